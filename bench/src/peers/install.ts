/**
 * `bench/peers/install`: gets the peers that this machine's registries offer, each at its pinned version, into the
 * cache, and says of each what it could not get and why. A peer that is missing is no error: exit code 0. 2: usage.
 */
import { parseArgs } from 'node:util'
import { allPeers, peerNamed } from './all-peers.ts'
import { RECIPES, type Recipe } from './install-recipes.ts'
import type { Found, Peer } from './peer.ts'
import { cacheFolder } from './places.ts'

const HELP = `Installs the proxies that are measured beside ours, into ${cacheFolder()} (SLUICE_BENCH_CACHE).
  --only NAMES   some of ${allPeers.map(({ name }) => name).join(',')}
  --again        also those that are there
  --list         only say what is there
`

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      again: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    say(HELP)
    return
  }
  const wanted = values.only === undefined ? allPeers : values.only.split(',').map(peerNamed)
  for (const peer of wanted) {
    const found = await peer.find()
    const recipe = RECIPES.find(({ name }) => name === peer.name)
    if (values.list || recipe === undefined || (isCurrent(found, recipe) && !values.again)) {
      say(inWords(peer, found))
    } else {
      await install(peer, recipe)
    }
  }
}

async function install(peer: Peer, recipe: Recipe): Promise<void> {
  say(`${peer.name}: getting ${recipe.what}${recipe.version ? `, ${recipe.version}` : ''}\n`)
  try {
    await recipe.install(say)
    say(inWords(peer, await peer.find()))
  } catch (error) {
    say(`${peer.name}: could not get ${recipe.what}: ${(error as Error).message}\n`)
  }
}

function isCurrent(found: Found, { version }: Recipe): boolean {
  return found.kind === 'found' && (version === undefined || found.version === version)
}

function inWords({ name }: Peer, found: Found): string {
  return found.kind === 'found'
    ? `${name}: ${found.version}, ${found.binary}, ${found.origin}\n`
    : `${name}: not installed: ${found.reason}\n`
}

function say(text: string): void {
  process.stdout.write(text)
}

try {
  await main()
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n${HELP}`)
  process.exitCode = 2
}
