/** Which way a request would take, by the matcher that nodes run. */
import { type FormEvent, useState } from 'react'
import { Link } from 'wouter'
import { call } from '../api/client.ts'
import type { Explanation } from '../api/types.ts'
import { useWrite } from '../app/session.tsx'
import { percent, text } from '../design/format.ts'
import { Card, Failure, PageFrame } from '../design/parts.tsx'

export function ExplainPage() {
  const [url, setUrl] = useState('http://')
  const [method, setMethod] = useState('GET')
  const [from, setFrom] = useState('')
  const explain = useWrite((body: object, csrfToken) =>
    call<Explanation>('/explain', { method: 'POST', body, csrfToken }),
  )
  const submit = (event: FormEvent) => {
    event.preventDefault()
    explain.mutate({ url, method, ...(from === '' ? {} : { from }) })
  }
  return (
    <PageFrame title="Explain a request">
      <form className="card form" onSubmit={submit}>
        <div className="field">
          <label htmlFor="url">URL</label>
          <input id="url" value={url} required onChange={(event) => setUrl(event.target.value)} />
          <small>As a client would ask for it, with its scheme and port.</small>
        </div>
        <div className="parts">
          <div className="field">
            <label htmlFor="method">Method</label>
            <input id="method" value={method} onChange={(event) => setMethod(event.target.value)} />
          </div>
          <div className="field">
            <label htmlFor="from">Client address</label>
            <input
              id="from"
              value={from}
              placeholder="any"
              onChange={(event) => setFrom(event.target.value)}
            />
          </div>
        </div>
        <div>
          <button type="submit" className="main" disabled={explain.isPending}>
            Explain
          </button>
        </div>
        <Failure error={explain.error} />
      </form>
      {explain.data === undefined ? null : <Answer explanation={explain.data} />}
    </PageFrame>
  )
}

function Answer({ explanation }: { readonly explanation: Explanation }) {
  const { outcome, reason, version, entryPoint, router, service, servers, certificate } =
    explanation
  return (
    <Card title="What nodes do with it">
      <p role="status">
        <span className={`state ${outcome === 'forwarded' ? 'good' : 'warn'}`}>{outcome}</span>{' '}
        {reason}
      </p>
      <dl>
        <dt>Version</dt>
        <dd>{version}</dd>
        <dt>Entry point</dt>
        <dd>{entryPoint?.name ?? '–'}</dd>
        <dt>Router</dt>
        <dd>
          {router === null ? '–' : <Link href={`/routers/${router.name}`}>{router.name}</Link>}
        </dd>
        <dt>Service</dt>
        <dd>{service === null ? '–' : <Link href={`/services/${service}`}>{service}</Link>}</dd>
        <dt>Servers</dt>
        <dd>
          {servers.length === 0 ? '–' : null}
          {servers.map(({ url, share }) => (
            <div key={url}>
              {url} <span className="quiet">{text(percent(share))}</span>
            </div>
          ))}
        </dd>
        <dt>Certificate</dt>
        <dd>{certificate?.name ?? '–'}</dd>
        {explanation.nearRouters.map((near) => (
          <NearRouter key={near.name} {...near} />
        ))}
      </dl>
    </Card>
  )
}

function NearRouter({ name, reason }: { readonly name: string; readonly reason: string }) {
  return (
    <>
      <dt>Nearly</dt>
      <dd>
        <Link href={`/routers/${name}`}>{name}</Link>: {reason}
      </dd>
    </>
  )
}
