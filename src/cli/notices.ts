import type { Command } from 'commander'
import { ACCOUNT_EVENTS, type NoticeEvent, type NoticeFacts, OPERATOR_EVENTS } from '../contract/notices.ts'
import { type CommandContext, inPages, type PageOptions } from './command-context.ts'

interface OfAccount {
  readonly account?: string
}

const accountArgs = ({ account }: OfAccount) => (account === undefined ? {} : { account })

/** `of ann@example.com`, for the next command of the same list. */
const accountOption = ({ account }: OfAccount): string[] => (account === undefined ? [] : ['--account', account])

const describeFacts = (facts: NoticeFacts): string =>
  Object.entries(facts)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')

export function addNotices(program: Command, context: CommandContext): void {
  const notices = program.command('notices').description('show what owners and operators are told, and set thresholds')
  inPages(
    notices
      .command('list')
      .description('list notices, newest first')
      .option('--account <account>', 'those of an account; without it, those that operators are told'),
  ).action(({ account, ...page }: OfAccount & PageOptions) =>
    context.list(
      'notices.list',
      { ...page, ...(account !== undefined && { account }) },
      {
        columns: ['time', 'event', 'details'],
        row: ({ at, event, facts }) => [at, event, describeFacts(facts)],
        command: ['notices', 'list', ...(account === undefined ? [] : ['--account', account])],
        none: 'No notices.',
      },
    ),
  )
  notices
    .command('low-balance <account> [usd]')
    .description('show or set below which balance an account is told; none: never')
    .action((account: string, usd: string | undefined) => {
      const line = ({ low_balance: low }: { low_balance: string | null }) => ({
        data: low === null ? 'No notice of a low balance.\n' : `Notice below ${low} USD.\n`,
      })
      return usd === undefined
        ? context.operate('notices.settings.show', { account }, line)
        : context.operate('notices.settings', { account, low_balance: usd === 'none' ? null : usd }, line)
    })
}

const EVENTS = [...new Set([...ACCOUNT_EVENTS, ...OPERATOR_EVENTS])].join(', ')

export function addWebhooks(program: Command, context: CommandContext): void {
  const webhooks = program.command('webhooks').description('manage where notices are sent, signed')
  const OF_ACCOUNT = ['--account <account>', 'id or email; without it, of operators'] as const
  webhooks
    .command('list')
    .description('list webhooks')
    .option(...OF_ACCOUNT)
    .action((options: OfAccount) =>
      context.operate('webhooks.list', accountArgs(options), ({ items }) => ({
        data: items.map(({ id, state, url, events }) => `${id}  ${state}  ${url}  ${events.join(' ')}\n`).join(''),
        ...(items.length === 0 && {
          note: `No webhooks. To add one:  millrace webhooks add https://… ${accountOption(options).join(' ')}\n`,
        }),
      })),
    )
  webhooks
    .command('add <url>')
    .description('add a webhook, and print its secret once')
    .option(...OF_ACCOUNT)
    .option('--events <events>', `separated by commas; default: all of ${EVENTS} that apply`)
    .action((url: string, { events, ...options }: OfAccount & { events?: string }) => {
      const all = options.account === undefined ? OPERATOR_EVENTS : ACCOUNT_EVENTS
      // The operation checks the names.
      const chosen = (events === undefined ? all : events.split(',').map((event) => event.trim())) as NoticeEvent[]
      return context.operate(
        'webhooks.add',
        { url, events: [...chosen], ...accountArgs(options) },
        ({ webhook, secret }) => ({
          before: `Added ${webhook.id}. Its secret, shown only now:\n`,
          data: `${secret}\n`,
          note: `To try it:  millrace webhooks test ${webhook.id}\n`,
        }),
      )
    })
  addChanges(webhooks, context)
  inPages(webhooks.command('deliveries <webhook>').description('list what was sent to a webhook, newest first')).action(
    (webhook: string, options: PageOptions) =>
      context.list(
        'webhooks.deliveries.list',
        { webhook, ...options },
        {
          columns: ['id', 'event', 'state', '>attempts', 'status', 'time', 'error'],
          row: ({ id, event, state, attempts, status, created_at: at, error }) => [
            ...[id, event, state, String(attempts), status === null ? '-' : String(status), at, error ?? '-'],
          ],
          command: ['webhooks', 'deliveries', webhook],
          none: 'Nothing was sent to it yet.',
        },
      ),
  )
}

function addChanges(webhooks: Command, context: CommandContext): void {
  webhooks
    .command('rotate <webhook>')
    .description('print a new secret once; for a day, messages are signed with both')
    .action((webhook: string) =>
      context.operate('webhooks.rotate', { webhook }, ({ secret, webhook: { former_secret_until: until } }) => ({
        before: `The secret before is valid until ${until}. The new one, shown only now:\n`,
        data: `${secret}\n`,
      })),
    )
  const switchTo = (name: 'enable' | 'disable', description: string) =>
    webhooks
      .command(`${name} <webhook>`)
      .description(description)
      .action((webhook: string) =>
        context.operate('webhooks.change', { webhook, enabled: name === 'enable' }, ({ id, state }) => ({
          data: `${id} is ${state}.\n`,
        })),
      )
  switchTo('enable', 'send to a webhook again')
  switchTo('disable', 'send nothing to a webhook until it is enabled')
  webhooks
    .command('remove <webhook>')
    .description('remove a webhook and its deliveries')
    .action((webhook: string) =>
      context.operate('webhooks.remove', { webhook }, ({ id }) => ({ data: `Removed ${id}.\n` })),
    )
  webhooks
    .command('test <webhook>')
    .description('send a message of the type test')
    .action((webhook: string) =>
      context.operate('webhooks.test', { webhook }, ({ id }) => ({
        data: `${id}\n`,
        note: `The server sends it at once. To see the outcome:  millrace webhooks deliveries ${webhook}\n`,
      })),
    )
  webhooks
    .command('resend <webhook> <delivery>')
    .description('send a delivery again, with the same webhook-id')
    .action((webhook: string, delivery: string) =>
      context.operate('webhooks.resend', { webhook, delivery }, ({ id }) => ({ data: `${id} is sent again.\n` })),
    )
}

export function addMail(program: Command, context: CommandContext): void {
  program
    .command('mail')
    .description('try the mail server of the configuration')
    .command('test')
    .description('send a test mail, and print what the mail server answers')
    .requiredOption('--to <address>', 'the recipient')
    .action(({ to }: { to: string }) =>
      context.operate('mail.test', { to }, ({ answer }) => ({ data: `Sent to ${to}: ${answer}\n` })),
    )
}
