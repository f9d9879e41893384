/** nginx twice: as the origin, and as the proxy that ours is compared with. One worker each. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { childrenOf } from './processor.ts'
import { type Program, type Programs, until } from './programs.ts'

const BODY_BYTES = 1024

interface Place {
  readonly directory: string
  readonly cpus: string
  readonly port: number
}

export async function startOrigin(programs: Programs, place: Place): Promise<Program> {
  const root = join(place.directory, 'origin', 'files')
  await mkdir(root, { recursive: true })
  await writeFile(join(root, '1k'), 'x'.repeat(BODY_BYTES))
  return start(
    programs,
    'origin',
    place,
    `
    open_file_cache max=16;
    server {
      listen 127.0.0.1:${place.port} backlog=4096;
      root ${root};
    }`,
  )
}

/** The work that our node does by default: Host kept, X-Forwarded-* set, connections to the origin kept. */
export async function startProxy(
  programs: Programs,
  place: Place,
  originPort: number,
): Promise<Program> {
  return start(
    programs,
    'nginx',
    place,
    `
    upstream origin {
      server 127.0.0.1:${originPort};
      keepalive 64;
      keepalive_requests 100000000;
    }
    server {
      listen 127.0.0.1:${place.port} backlog=4096;
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
}

/** The process that handles requests. */
export function workerOf(master: Program): number {
  const [worker] = childrenOf(master.pid)
  if (worker === undefined) throw new Error(`${master.name} has no worker: ${master.output()}`)
  return worker
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
  await until(`${name} to serve (${master.output()})`, 5_000, async () => {
    const answer = await fetch(`http://127.0.0.1:${place.port}/1k`)
    return (await answer.text()).length === BODY_BYTES ? true : undefined
  })
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
