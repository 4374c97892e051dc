import { type Command, Option } from 'commander'
import type { OperationArgs, OperationValue } from '../admin/operations.ts'
import { APPLIED_AT_ONCE } from '../contract/accounts-file.ts'
import { accountsCsvHead, writeAccountCsv } from './accounts-csv.ts'
import { EXIT, type SecretsFileOutcome } from './cli-services.ts'
import type { CommandContext } from './command-context.ts'
import { countOf, printable } from './format.ts'

interface ApplyOptions {
  readonly file: string
  readonly dryRun?: true
  readonly yes?: true
  readonly secretsTo?: string
}

export function addApply(program: Command, context: CommandContext): void {
  withApplyOptions(
    program.command('apply').description('make accounts what a file says; prints the changes first'),
    context,
  )
}

/** `accounts import` and `accounts export`. */
export function addFiles(accounts: Command, context: CommandContext): void {
  withApplyOptions(
    accounts.command('import').description('the same as millrace apply, for a CSV or JSON lines file'),
    context,
  )
  accounts
    .command('export')
    .description('print all accounts with their keys, without secrets, for import or a spreadsheet')
    .addOption(new Option('--format <format>', 'jsonl also has people').choices(['jsonl', 'csv']).default('jsonl'))
    .action(({ format }: { format: 'jsonl' | 'csv' }) => exportAll(context, format))
}

const withApplyOptions = (command: Command, context: CommandContext): Command =>
  command
    .requiredOption('-f, --file <file>', 'YAML, JSON lines (.jsonl) or CSV (.csv)')
    .option('--dry-run', 'print the changes, and make none')
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--secrets-to <file>', 'write new keys and links to a file of mode 0600, not to the terminal')
    .action((options: ApplyOptions) => apply(context, options))

type Applied = OperationValue<'accounts.apply'>

async function apply(context: CommandContext, options: ApplyOptions): Promise<void> {
  const { services } = context
  const read = services.accountsFiles.read(options.file)
  if (read.kind === 'invalid') return context.fail(EXIT.usage, read.lines.join('\n'))
  const batches = Array.from({ length: Math.ceil(read.accounts.length / APPLIED_AT_ONCE) }, (_, batch) =>
    read.accounts.slice(batch * APPLIED_AT_ONCE, (batch + 1) * APPLIED_AT_ONCE),
  )
  const previews: Applied[] = []
  for (const accounts of batches) {
    const preview = await context.call('accounts.apply', { accounts, dry_run: true })
    if (preview === undefined) return
    previews.push(preview)
  }
  const linesOf = (what: 'problems' | 'warnings'): string[] =>
    previews.flatMap((preview, batch) =>
      preview[what].map(({ path: [list, index, ...rest], message }) => {
        const at = [list!, Number(index) + batch * APPLIED_AT_ONCE, ...rest]
        return `${read.placeOf(at)}  ${message}`
      }),
    )
  const problems = linesOf('problems')
  if (problems.length > 0) return context.fail(EXIT.failure, problems.join('\n'))
  const warnings = linesOf('warnings')
  if (!context.json) services.terminal.err(warnings.map((line) => `${printable(line)}\n`).join(''))
  const changes = previews.flatMap((preview) => preview.changes)
  const isOver = changes.length === 0 || options.dryRun === true
  if (isOver) return context.print({ changes, warnings, done: 0 }, { data: describeChanges(changes) })
  if (!context.json) services.terminal.err(describeChanges(changes))
  if (!(await mayApply(context, options, changes.length))) return
  // Before anything is changed: a secret that cannot be written would be lost.
  const file = options.secretsTo === undefined ? undefined : services.accountsFiles.openSecrets(options.secretsTo)
  if (file?.kind === 'refused') return context.fail(EXIT.failure, file.message)
  try {
    await applyBatches(context, { batches, previews, warnings, file })
  } finally {
    file?.close()
  }
}

const SIGNS = { create: '+', change: '~', remove: '-' } as const

function describeChanges(changes: Applied['changes']): string {
  if (changes.length === 0) return 'No change.\n'
  const lines: string[] = []
  let last = ''
  for (const { account, action, what } of changes) {
    if (account !== last) lines.push(account)
    last = account
    lines.push(`  ${SIGNS[action]} ${what}`)
  }
  return `${lines.map(printable).join('\n')}\n${countOf(changes.length, 'change')}.\n`
}

async function mayApply(context: CommandContext, { yes }: ApplyOptions, changes: number): Promise<boolean> {
  const { terminal } = context.services
  if (yes === true) return true
  if (!terminal.interactive) {
    context.fail(EXIT.usage, 'Confirm the changes with --yes, or print them with --dry-run.')
    return false
  }
  const answer = await terminal.ask(`Make ${countOf(changes, 'this change', 'these changes')}? Type yes to continue: `)
  if (answer?.trim().toLowerCase() === 'yes') return true
  context.fail(EXIT.failure, 'Nothing was changed.')
  return false
}

interface Batches {
  readonly batches: readonly OperationArgs<'accounts.apply'>['accounts'][]
  readonly previews: readonly Applied[]
  readonly warnings: readonly string[]
  readonly file: Extract<SecretsFileOutcome, { kind: 'open' }> | undefined
}

/** Secrets are shown or written after each batch, so that an interruption loses few. */
async function applyBatches(context: CommandContext, { batches, previews, warnings, file }: Batches): Promise<void> {
  const total = { warnings, done: 0, secrets: [] as Applied['secrets'], links: [] as Applied['links'] }
  for (const [batch, accounts] of batches.entries()) {
    const { plan: expect, changes } = previews[batch]!
    if (changes.length === 0) continue
    const applied = await context.call('accounts.apply', { accounts, expect }, total)
    if (applied === undefined) return
    const { secrets, links, failure } = applied
    total.done += applied.done
    const lines = [...secrets, ...links].map((each) => `${JSON.stringify(each)}\n`).join('')
    if (file !== undefined) file.write(lines)
    else if (context.json) {
      total.secrets.push(...secrets)
      total.links.push(...links)
    } else {
      const shown = [
        ...secrets.map(({ account, key, secret }) => `${account}\t${key}\t${secret}\n`),
        ...links.map(({ account, email, link }) => `${account}\t${email}\t${link}\n`),
      ]
      context.services.terminal.out(shown.join(''))
    }
    if (failure !== null) {
      const { account, what, message } = failure
      return context.fail(
        EXIT.failure,
        `${account}: ${what}: ${message} ${countOf(total.done, 'change')} made before it.`,
        total,
      )
    }
  }
  const made = `${countOf(total.done, 'change')} made.\n`
  context.print(total, { data: '', note: file === undefined ? made : `${made}New keys and links are in the file.\n` })
}

const EXPORTED_AT_ONCE = 100

async function exportAll(context: CommandContext, format: 'jsonl' | 'csv'): Promise<void> {
  const { terminal } = context.services
  if (format === 'csv') terminal.out(accountsCsvHead())
  for (let after: string | null | undefined; after !== null; ) {
    const page = await context.call('accounts.export', {
      limit: EXPORTED_AT_ONCE,
      ...(after !== undefined && { after }),
    })
    if (page === undefined) return
    terminal.out(page.items.map(format === 'csv' ? writeAccountCsv : (entry) => `${JSON.stringify(entry)}\n`).join(''))
    after = page.next
  }
}
