/** Every node of the fleet. */
import { useState } from 'react'
import { Link } from 'wouter'
import { ForRole } from '../app/session.tsx'
import { Card, Empty, Failure, Labels, PageFrame, State, Time } from '../design/parts.tsx'
import { useNodes } from './use-nodes.ts'

export function NodesPage() {
  const nodes = useNodes()
  const [search, setSearch] = useState('')
  const items = nodes.data?.items ?? []
  const shown = items.filter(({ name, state }) => `${name} ${state}`.includes(search))
  const add = (
    <ForRole least="admin">
      <Link className="button main" href="/nodes/add">
        Add a node
      </Link>
    </ForRole>
  )
  return (
    <PageFrame title="Nodes" actions={add}>
      <Failure error={nodes.error} />
      <Card>
        {nodes.isSuccess && items.length === 0 ? (
          <Empty title="No node has joined yet">
            Make a join token and start a node with it on a machine that clients can reach.
          </Empty>
        ) : (
          <>
            <input
              type="search"
              aria-label="Search nodes"
              placeholder="Name or state"
              value={search}
              onChange={(event) => setSearch(event.target.value)}
            />
            <div className="scroll">
              <table>
                <thead>
                  <tr>
                    <th>Name</th>
                    <th>State</th>
                    <th className="right">Version</th>
                    <th>Applied</th>
                    <th>Address</th>
                    <th>Software</th>
                    <th>Labels</th>
                  </tr>
                </thead>
                <tbody>
                  {shown.map((node) => (
                    <tr key={node.id}>
                      <td>
                        <Link href={`/nodes/${encodeURIComponent(node.name)}`}>{node.name}</Link>
                      </td>
                      <td>
                        <State state={node.state} />
                      </td>
                      <td className="right">{node.version}</td>
                      <td>
                        <Time at={node.appliedAt} />
                      </td>
                      <td>{node.address}</td>
                      <td>{node.softwareVersion}</td>
                      <td>
                        <Labels of={node.labels} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </>
        )}
      </Card>
    </PageFrame>
  )
}
