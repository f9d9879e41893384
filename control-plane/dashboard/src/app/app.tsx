/** The frame around all pages, and which page an address is. */
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Link, Route, Switch, useRoute } from 'wouter'
import { call } from '../api/client.ts'
import type { Status } from '../api/types.ts'
import { Empty } from '../design/parts.tsx'
import { LogsPage } from '../logs/logs-page.tsx'
import { AddNodePage } from '../nodes/add-node-page.tsx'
import { NodePage } from '../nodes/node-page.tsx'
import { NodesPage } from '../nodes/nodes-page.tsx'
import { OverviewPage } from '../overview/overview-page.tsx'
import { collections } from '../resources/collections.ts'
import { ListPage } from '../resources/list-page.tsx'
import { SettingsPage } from '../settings/settings-page.tsx'
import { VersionPage } from '../versions/version-page.tsx'
import { VersionsPage } from '../versions/versions-page.tsx'
import { useLiveEvents } from './live.ts'

// Forms bring a YAML writer with them, and are not on the first page.
const ResourcePage = lazy(async () => ({
  default: (await import('../resources/resource-page.tsx')).ResourcePage,
}))
const ExplainPage = lazy(async () => ({
  default: (await import('../resources/explain-page.tsx')).ExplainPage,
}))

const places = [
  { path: '/', name: 'Overview' },
  { path: '/nodes', name: 'Nodes' },
  ...collections.map(({ path, plural }) => ({ path: `/${path}`, name: plural })),
  { path: '/explain', name: 'Explain a request' },
  { path: '/versions', name: 'Versions' },
  { path: '/logs', name: 'Logs' },
  { path: '/settings', name: 'Settings' },
]

export function App() {
  const isLive = useLiveEvents()
  return (
    <div className="frame">
      <a className="skip" href="#page">
        Skip to the page
      </a>
      <Side isLive={isLive} />
      <main id="page" tabIndex={-1}>
        <Suspense fallback={<p className="quiet">Loading …</p>}>
          <Pages />
        </Suspense>
      </main>
    </div>
  )
}

function Side({ isLive }: { readonly isLive: boolean }) {
  const status = useQuery({ queryKey: ['status'], queryFn: () => call<Status>('/status') })
  return (
    <div className="side">
      <Link className="brand" href="/">
        <img src="/sluice.svg" alt="" /> Sluice
      </Link>
      <nav aria-label="Pages">
        {places.map((place) => (
          <Place key={place.path} {...place} />
        ))}
      </nav>
      <div className="foot">
        <span className={`state ${isLive ? 'good' : 'bad'}`} role="status">
          {isLive ? 'live' : 'no connection'}
        </span>
        {status.data === undefined ? null : (
          <>
            <Link href="/versions">version {status.data.version}</Link>
            <span className="quiet">Sluice {status.data.softwareVersion}</span>
          </>
        )}
      </div>
    </div>
  )
}

function Place({ path, name }: { readonly path: string; readonly name: string }) {
  const [isHere] = useRoute(path === '/' ? '/' : `${path}/*?`)
  return (
    <Link href={path} aria-current={isHere ? 'page' : undefined}>
      {name}
    </Link>
  )
}

function Pages() {
  return (
    <Switch>
      <Route path="/" component={OverviewPage} />
      <Route path="/nodes" component={NodesPage} />
      <Route path="/nodes/add" component={AddNodePage} />
      <Route path="/nodes/:name">{({ name }) => <NodePage key={name} name={name} />}</Route>
      {collections.map((collection) => (
        <Route key={collection.path} path={`/${collection.path}`}>
          <ListPage key={collection.path} collection={collection} />
        </Route>
      ))}
      {collections.map((collection) => (
        <Route key={collection.path} path={`/${collection.path}/:name`}>
          {({ name }) => <ResourcePage key={name} collection={collection} name={name} />}
        </Route>
      ))}
      <Route path="/explain" component={ExplainPage} />
      <Route path="/versions" component={VersionsPage} />
      <Route path="/versions/:number">
        {({ number }) => <VersionPage key={number} number={Number(number)} />}
      </Route>
      <Route path="/logs" component={LogsPage} />
      <Route path="/settings" component={SettingsPage} />
      <Route>
        <Empty title="There is no such page">
          <Link href="/">Go to the overview</Link>
        </Empty>
      </Route>
    </Switch>
  )
}
