/** What can be given to `npm run up`, and the addresses that follow from it. */
import { parseArgs } from 'node:util'

const nodesMax = 20

export const help = `Usage: npm run up [-- OPTIONS]

Installs and builds what is missing, then runs Sluice on this machine until Ctrl-C:
a control plane, nodes that join it, and an echo origin. Data stays in the data
directory, and the next start goes on with it.

Options
  --nodes N         how many nodes to run (1, at most ${nodesMax}); their ports count up
                    from 8080 (HTTP), 8443 (HTTPS) and 7410 (status)
  --data-dir DIR    where the data lives (.sluice)
  --port-offset N   added to every port, so that a second Sluice can run beside
                    the first; give it a data directory of its own (0)
  --verbose         show every log line, not only warnings, errors and starts
  --help            show this

Each can be given by the environment too: SLUICE_UP_NODES, SLUICE_UP_DATA_DIR,
SLUICE_UP_PORT_OFFSET, SLUICE_UP_VERBOSE=1.

Ports, all on 127.0.0.1: 7400 admin API, 7401 fleet gRPC, 9090 echo origin;
for node-1: 8080 HTTP, 8443 HTTPS, 7410 status.
`

/** What cannot be done, as the one line that is shown for it. */
export class UpFailure extends Error {}

/** Options from the command line, else the environment, else the defaults. */
export function readOptions(argv, environment) {
  const { values } = parse(argv)
  const text = (flag, variable, standard) => values[flag] ?? (environment[variable] || standard)
  return {
    isHelp: values.help ?? false,
    isVerbose: values.verbose ?? environment.SLUICE_UP_VERBOSE === '1',
    dataDir: text('data-dir', 'SLUICE_UP_DATA_DIR', '.sluice'),
    nodes: wholeNumber('nodes', text('nodes', 'SLUICE_UP_NODES', '1'), 1, nodesMax),
    portOffset: wholeNumber(
      'port-offset',
      text('port-offset', 'SLUICE_UP_PORT_OFFSET', '0'),
      0,
      50_000,
    ),
  }
}

/** Every address that will be listened on, with the words for its purpose. */
export function plan({ nodes, portOffset }) {
  const at = (port) => `127.0.0.1:${port + portOffset}`
  return {
    admin: { address: at(7400), purpose: 'admin API of the control plane' },
    fleet: { address: at(7401), purpose: 'fleet gRPC of the control plane' },
    origin: { address: at(9090), purpose: 'echo origin' },
    nodes: Array.from({ length: nodes }, (_, index) => ({
      name: `node-${index + 1}`,
      web: { address: at(8080 + index), purpose: `HTTP of node-${index + 1}` },
      websecure: { address: at(8443 + index), purpose: `HTTPS of node-${index + 1}` },
      status: { address: at(7410 + index), purpose: `status endpoint of node-${index + 1}` },
    })),
  }
}

function parse(argv) {
  try {
    return parseArgs({
      args: argv,
      options: {
        nodes: { type: 'string' },
        'data-dir': { type: 'string' },
        'port-offset': { type: 'string' },
        verbose: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    throw new UpFailure(`${error.message.split('. ')[0]}; see npm run up -- --help`)
  }
}

function wholeNumber(flag, text, least, most) {
  const number = Number(text)
  if (text.trim() === '' || !Number.isInteger(number) || number < least || number > most) {
    throw new UpFailure(`--${flag}: "${text}" is not a whole number from ${least} to ${most}`)
  }
  return number
}
