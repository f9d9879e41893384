/** What sluice-control-plane does besides serving: commands on a data directory, each with its own --help. */
import { Command } from 'commander'
import { backupCommands } from './backup/program.ts'

/** Undefined: the arguments are no command's, so the program serves. */
export function commandFor(argv: readonly string[], softwareVersion: string): Command | undefined {
  const program = new Command('sluice-control-plane')
  const print = (line: string) => process.stdout.write(`${line}\n`)
  for (const command of backupCommands(softwareVersion, print)) program.addCommand(command)
  return program.commands.some((command) => command.name() === argv[0]) ? program : undefined
}
