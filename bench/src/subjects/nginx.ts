/** nginx twice: as the origin, and as the proxy that ours is compared with. One worker each. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { childrenOf } from '../processor.ts'
import { freePort, type Program, type Programs, until } from '../programs.ts'
import { BODY_BYTES } from '../scenarios.ts'
import type { Subject, Surroundings } from './subject.ts'

interface Place {
  readonly directory: string
  readonly cpus: string
  readonly port: number
}

/**
 * The small answer comes from memory with the fields that a file would have, since the origin shares its
 * CPU with the load: what it saves lets a fast proxy be busy.
 */
export async function startOrigin(programs: Programs, place: Place): Promise<void> {
  const root = join(place.directory, 'origin', 'files')
  await mkdir(root, { recursive: true })
  await writeFile(join(root, '64k'), 'x'.repeat(BODY_BYTES['64k']))
  await start(
    programs,
    'origin',
    place,
    `
    open_file_cache max=16;
    server {
      listen 127.0.0.1:${place.port} backlog=4096;
      root ${root};
      location = /1k {
        add_header Last-Modified "Mon, 30 Nov 2026 08:00:00 GMT";
        add_header ETag '"692bf780-400"';
        add_header Accept-Ranges bytes;
        return 200 "${'x'.repeat(BODY_BYTES['1k'])}";
      }
    }`,
  )
}

/** The work that our node does by default: Host kept, X-Forwarded-* set, connections to the origin kept. */
export async function startNginx(programs: Programs, around: Surroundings): Promise<Subject> {
  const { certificate, directory, machine, originPort } = around
  const ports = { http: await freePort(), https: await freePort() }
  const place = { directory, cpus: machine.proxyCpu, port: ports.http }
  const master = await start(
    programs,
    'nginx',
    place,
    `
    upstream origin {
      server 127.0.0.1:${originPort};
      keepalive 64;
      keepalive_requests 100000000;
    }
    ssl_certificate ${certificate.chainFile};
    ssl_certificate_key ${certificate.keyFile};
    ssl_protocols TLSv1.2 TLSv1.3;
    server {
      listen 127.0.0.1:${ports.http} backlog=4096;
      listen 127.0.0.1:${ports.https} ssl backlog=4096;
      location / {
        proxy_pass http://origin;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host $host;
        proxy_set_header X-Forwarded-For $remote_addr;
        proxy_set_header X-Forwarded-Proto $scheme;
        proxy_set_header X-Forwarded-Host $host;
      }
    }`,
  )
  const [worker] = childrenOf(master.pid)
  if (worker === undefined) throw new Error(`nginx has no worker: ${master.output()}`)
  return { name: 'nginx', ports, worker }
}

async function start(
  programs: Programs,
  name: string,
  place: Place,
  servers: string,
): Promise<Program> {
  const directory = join(place.directory, name)
  await mkdir(directory, { recursive: true })
  const file = join(directory, 'nginx.conf')
  await writeFile(file, configuration(directory, servers))
  const master = programs.start(name, place.cpus, 'nginx', ['-c', file, '-p', directory])
  await until(master, async () => (await fetch(`http://127.0.0.1:${place.port}/1k`)).ok)
  return master
}

function configuration(directory: string, servers: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${directory}/${kind};`)
    .join('\n    ')
  // Started by root, nginx would hand its workers to a user that cannot read the temporary directory.
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  return `
  daemon off;
  ${user}
  worker_processes 1;
  pid ${directory}/pid;
  error_log stderr error;
  events { worker_connections 4096; }
  http {
    ${temporary}
    access_log off;
    keepalive_requests 100000000;
    ${servers}
  }
`
}
