/** `npm run bench -- …`: reads arguments, sets the exit code, and does nothing else. */
import { Command, CommanderError } from 'commander'
import { doctor } from './command-line/doctor-command.ts'
import { EXIT } from './command-line/exit-code.ts'
import {
  checkRecord,
  compareRecords,
  type ReportOptions,
  renderRecords,
} from './command-line/record-commands.ts'
import {
  addRunOptions,
  addSessionOptions,
  readPage,
  runPair,
  runSuite,
} from './command-line/session-command.ts'
import { UsageError } from './suites/suite.ts'

const program = new Command('bench')
  .description(
    'Measures our node beside other proxies, and says how far the figures can be trusted.',
  )
  .exitOverride()
  .configureHelp({ showGlobalOptions: true })

const end = async (work: Promise<number>) => {
  process.exitCode = await work
}

program
  .command('doctor')
  .description('CPUs, limits, tools, noise: whether this machine can measure')
  .action(() => end(doctor()))

addRunOptions(
  program
    .command('run')
    .argument('[suite]', 'dnz, ramp, sweep, rewrk or quick', 'dnz')
    .description('measure a suite; a record goes to bench/results/'),
).action((suite, options) => end(runSuite(suite, options)))

addSessionOptions(
  program
    .command('ab')
    .argument('<old>', 'a proxy by name, or a checkout of ours with dist/ built')
    .argument('<new>', 'the same')
    .description('two builds taking turns, and what changed'),
).action((left, right, options) => end(runPair(left, right, options)))

program
  .command('report')
  .argument('<dir...>', 'records')
  .option('--html <file>', 'where the page goes; by default report.html in the record')
  .option('--md <file>', 'where the tables go; by default report.md in the record')
  .option('--like <page>', 'the tables of a page: dnz, zoxy, aralez, rpxy', readPage)
  .option('--json', 'print report.json')
  .option('--results', 'write bench/RESULTS.md from these records')
  .description('render records again, from their files alone')
  .action((folders: string[], options: ReportOptions) => end(renderRecords(folders, options)))

program
  .command('compare')
  .argument('<dir1>', 'a record')
  .argument('<dir2>', 'another one of the same work and layout')
  .description('ratios of two records beside each other')
  .action((left: string, right: string) => end(compareRecords(left, right)))

program
  .command('check')
  .argument('<dir>', 'a record')
  .description('run all 28 honesty tests over a record')
  .action((folder: string) => end(checkRecord(folder)))

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage
  } else {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    process.exitCode = error instanceof UsageError ? EXIT.usage : EXIT.error
  }
}
