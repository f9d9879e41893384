/** `sluice user`: the people who may sign in. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { CommandFailure, exitCodes, messageOf } from '../failures.ts'
import { type RunAction, type Session, show } from '../session.ts'
import { table } from '../table.ts'
import { timeText } from '../values.ts'

interface User {
  readonly name: string
  readonly role: string
  readonly isDisabled: boolean
  readonly hasSecondFactor: boolean
  readonly createdAt: string
}

interface PasswordOptions {
  readonly passwordFile?: string
}

const roles = ['admin', 'editor', 'viewer']
const madePasswordBytes = 18
const passwordFlag = '--password-file <file>'
const passwordHelp =
  'file with the password, - for standard input; without it one is made and printed'

export function addUserCommands(program: Command, run: RunAction): void {
  const user = program.command('user').description('the people who may sign in')
  user
    .command('add <name>')
    .description('let somebody sign in')
    .addOption(new Option('--role <role>', 'what they may do').choices(roles).makeOptionMandatory())
    .option(passwordFlag, passwordHelp)
    .action((name: string, { role, passwordFile }: PasswordOptions & { readonly role: string }) =>
      run(async (session) => {
        const { password, told } = passwordFrom(passwordFile)
        await session.admin.send('POST', 'users', { body: { name, role, password } })
        const result = { name, role, change: 'added', ...told }
        show(session, result, () => withPassword(`user ${name} added as ${role}`, told))
      }),
    )
  user
    .command('list')
    .description('list the users')
    .action(() =>
      run(async (session) => {
        show(session, (await session.admin.get('users')) as Users, usersText)
      }),
    )
  user
    .command('password <name>')
    .description('set a new password, which ends the sessions of the user')
    .option(passwordFlag, passwordHelp)
    .action((name: string, { passwordFile }: PasswordOptions) =>
      run(async (session) => {
        const { password, told } = passwordFrom(passwordFile)
        await change(session, name, { password })
        const result = { name, change: 'password', ...told }
        show(session, result, () => withPassword(`user ${name} has a new password`, told))
      }),
    )
  addChanges(user, run)
}

function addChanges(user: Command, run: RunAction): void {
  const changing = (name: string, body: object, text: string) =>
    run(async (session) => {
      show(session, await change(session, name, body), () => text)
    })
  user
    .command('role <name> <role>')
    .description('change what a user may do: admin, editor or viewer')
    .action((name: string, role: string) => changing(name, { role }, `user ${name} is ${role}`))
  user
    .command('disable <name>')
    .description('let a user sign in no more, and end their sessions')
    .action((name: string) => changing(name, { isDisabled: true }, `user ${name} disabled`))
  user
    .command('enable <name>')
    .description('let a user who was disabled sign in again')
    .action((name: string) => changing(name, { isDisabled: false }, `user ${name} enabled`))
  user
    .command('reset-second-factor <name>')
    .description('let a user who has lost the second factor sign in without it')
    .action((name: string) =>
      changing(name, { hasSecondFactor: false }, `user ${name} has no second factor`),
    )
  user
    .command('remove <name>')
    .description('remove a user and end their sessions')
    .action((name: string) =>
      run(async (session) => {
        await session.admin.send('DELETE', pathOf(name))
        show(session, { name, change: 'removed' }, () => `user ${name} removed`)
      }),
    )
}

interface Users {
  readonly items: readonly User[]
}

function usersText({ items }: Users): string {
  return table(
    ['NAME', 'ROLE', 'STATE', 'SECOND FACTOR', 'CREATED'],
    items.map(({ name, role, isDisabled, hasSecondFactor, createdAt }) => [
      name,
      role,
      isDisabled ? 'disabled' : 'enabled',
      hasSecondFactor ? 'yes' : 'no',
      timeText(createdAt),
    ]),
  )
}

async function change({ admin }: Session, name: string, body: object): Promise<unknown> {
  return (await admin.send('PATCH', pathOf(name), { body })).body
}

function pathOf(name: string): string {
  return `users/${encodeURIComponent(name)}`
}

/** `told`: what has to be printed, since nobody else knows it. */
function passwordFrom(file: string | undefined): {
  readonly password: string
  readonly told: { readonly password?: string }
} {
  if (file === undefined) {
    const password = randomBytes(madePasswordBytes).toString('base64url')
    return { password, told: { password } }
  }
  try {
    const text = readFileSync(file === '-' ? 0 : file, 'utf8')
    return { password: text.replace(/\r?\n$/, ''), told: {} }
  } catch (error) {
    const text = `cannot read the password from ${file}: ${messageOf(error)}`
    throw new CommandFailure(exitCodes.usage, text, { cause: error })
  }
}

function withPassword(text: string, { password }: { readonly password?: string }): string {
  return password === undefined ? text : `${text}\npassword: ${password}`
}
