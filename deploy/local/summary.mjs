/** What is printed when everything runs: what is where, and commands that work when pasted. */

export function summary({ places, facts, dataDir }) {
  return `${[
    '',
    facts.isFirst
      ? 'Sluice runs, with a demo configuration.'
      : 'Sluice runs, with the data from before.',
    '',
    ...whatRunsWhere(places, facts, dataDir),
    ...(facts.hasDemo ? thingsToTry(places, dataDir) : []),
    '',
    'Ctrl-C stops everything.',
    '',
  ].join('\n')}\n`
}

function whatRunsWhere({ admin, fleet, origin, nodes }, { entryPoints }, dataDir) {
  const shown = entryPoints.filter(({ name }) => name === 'web' || name === 'websecure')
  return [
    row('dashboard', '', `http://${admin.address}/`),
    row('', 'sign in', `with the admin token: cat ${dataDir}/admin-token`),
    row(
      'control plane',
      'admin API',
      `http://${admin.address}  (docs: http://${admin.address}/api/docs)`,
    ),
    row('', 'fleet gRPC', fleet.address),
    ...nodes.flatMap((node) => [
      row(node.name, 'status', `http://${node.status.address}/status`),
      ...shown.map(({ name, protocol }) => row('', name, `${protocol}://${node[name].address}`)),
    ]),
    row('echo origin', '', `http://${origin.address}`),
    row('admin token', '', `${dataDir}/admin-token`),
    row('logs', '', `${dataDir}/logs/`),
  ]
}

function thingsToTry({ admin, nodes: [{ web, websecure }] }, dataDir) {
  const securePort = websecure.address.split(':')[1]
  const router = JSON.stringify({
    name: 'hello',
    match: { hosts: ['hello.localhost'] },
    service: 'demo',
  })
  return [
    '',
    'Try it:',
    `  curl -H 'Host: demo.localhost' http://${web.address}/`,
    `  curl --cacert ${dataDir}/ca.pem --resolve demo.localhost:${securePort}:127.0.0.1 https://demo.localhost:${securePort}/`,
    '',
    'Add a router, then ask it:',
    `  curl -H "Authorization: Bearer $(cat ${dataDir}/admin-token)" -H 'Content-Type: application/json' \\`,
    `    -d '${router}' http://${admin.address}/api/v1/routers`,
    `  curl -H 'Host: hello.localhost' http://${web.address}/`,
    '',
    'See what the control plane knows:',
    `  npx sluice status${serverFlags(admin, dataDir)}`,
  ]
}

function serverFlags({ address }, dataDir) {
  if (address === '127.0.0.1:7400' && dataDir === '.sluice') return ''
  return ` --server http://${address} --token-file ${dataDir}/admin-token`
}

function row(part, what, where) {
  return `  ${part.padEnd(15)} ${what.padEnd(11)} ${where}`
}
