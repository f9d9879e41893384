/** HAProxy with the same work as nginx and our node, in one process of one thread. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort, type Programs, until } from '../programs.ts'
import type { Subject, Surroundings } from './subject.ts'

export async function startHaproxy(programs: Programs, around: Surroundings): Promise<Subject> {
  const directory = join(around.directory, 'haproxy')
  await mkdir(directory, { recursive: true })
  const file = join(directory, 'haproxy.cfg')
  const ports = { http: await freePort(), https: await freePort() }
  await writeFile(file, configuration(around, ports))
  const program = programs.start('haproxy', around.machine.proxyCpu, 'haproxy', ['-db', '-f', file])
  await until(program, async () => (await fetch(`http://127.0.0.1:${ports.http}/1k`)).ok)
  return { name: 'haproxy', ports, worker: program.pid }
}

function configuration({ certificate, originPort }: Surroundings, ports: Subject['ports']): string {
  return `
global
  nbthread 1
  maxconn 4096

defaults
  mode http
  timeout connect 5s
  timeout client 75s
  timeout server 60s
  http-reuse always

frontend web
  bind 127.0.0.1:${ports.http} backlog 4096
  bind 127.0.0.1:${ports.https} backlog 4096 ssl crt ${certificate.bothFile} alpn http/1.1
  http-request set-header X-Forwarded-For %[src]
  http-request set-header X-Forwarded-Proto https if { ssl_fc }
  http-request set-header X-Forwarded-Proto http if !{ ssl_fc }
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  default_backend origin

backend origin
  server origin 127.0.0.1:${originPort}
`
}
