/** A fresh token in a command to paste; when the node has joined, its page follows. */
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { call } from '../api/client.ts'
import { useWrite } from '../app/session.tsx'
import { Card, Failure, PageFrame } from '../design/parts.tsx'
import { useNodes } from './use-nodes.ts'

interface Created {
  readonly token: string
  readonly expiresAt: string
}

const fleetPort = 7401

export function AddNodePage() {
  const [name, setName] = useState('')
  const [known, setKnown] = useState<readonly string[]>([])
  const nodes = useNodes()
  const [, goTo] = useLocation()
  const make = useWrite((_: undefined, csrfToken) =>
    call<Created>('/join-tokens', { method: 'POST', body: { uses: 1 }, csrfToken }),
  )
  const token = make.data?.token
  const items = nodes.data?.items ?? []
  const joined = items.find((node) => node.isConnected && !known.includes(node.id))
  useEffect(() => {
    if (token !== undefined && joined !== undefined) {
      goTo(`/nodes/${encodeURIComponent(joined.name)}`)
    }
  }, [token, joined, goTo])
  const begin = () => {
    setKnown(items.map(({ id }) => id))
    make.mutate(undefined)
  }
  return (
    <PageFrame title="Add a node">
      <Card>
        <div className="form">
          <div className="field">
            <label htmlFor="node-name">Name of the node</label>
            <input
              id="node-name"
              value={name}
              placeholder="the machine's host name"
              onChange={(event) => setName(event.target.value)}
            />
            <small>Leave it empty to use the machine's host name.</small>
          </div>
          <div>
            <button
              type="button"
              className="main"
              disabled={!nodes.isSuccess || make.isPending}
              onClick={begin}
            >
              Make the command
            </button>
          </div>
          <Failure error={make.error} />
          {token === undefined ? null : <JoinCommand token={token} name={name.trim()} />}
        </div>
      </Card>
    </PageFrame>
  )
}

function JoinCommand({ token, name }: { readonly token: string; readonly name: string }) {
  const [isCopied, setIsCopied] = useState(false)
  const named = name === '' ? '' : ` --name ${quote(name)}`
  const command = `SLUICE_JOIN_TOKEN=${token} sluice-node run --control-plane ${location.hostname}:${fleetPort}${named} --data-dir sluice-node`
  const copy = async () => {
    await navigator.clipboard.writeText(command)
    setIsCopied(true)
  }
  return (
    <div className="stack">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must get there. */}
      <pre tabIndex={0}>{command}</pre>
      <div className="spread">
        <span className="state warn" role="status">
          Waiting for the node; its page opens when it has joined
        </span>
        <button type="button" onClick={() => void copy()}>
          {isCopied ? 'Copied' : 'Copy'}
        </button>
      </div>
      <p className="quiet">
        The token works once and for an hour, and is not shown again. Change port {fleetPort} if the
        fleet server listens on another one.
      </p>
    </div>
  )
}

function quote(value: string): string {
  return /^[\w.-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`
}
