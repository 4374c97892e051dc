import type { Command } from 'commander'
import { type CommandContext, inPages, type PageOptions, parseCount } from './command-context.ts'
import { countOf, dayOf } from './format.ts'

export function addPayments(program: Command, context: CommandContext): void {
  const payments = program.command('payments').description('look at payments by card, and compare them with Stripe')
  inPages(payments.command('list').description('list payments of all accounts, newest first'))
    .option('--owed', 'only those that were refunded or disputed when the wallet was spent')
    .action((options: PageOptions & { readonly owed?: boolean }) =>
      context.list('payments.list', options, {
        columns: ['id', 'account', 'kind', 'state', 'amount', 'refunded', 'disputed', 'owed', 'created'],
        row: (payment) => [
          ...[payment.id, payment.email, payment.kind.replace('_', ' '), payment.state, payment.amount],
          ...[payment.refunded, payment.disputed, payment.owed, dayOf(payment.created_at)],
        ],
        command: ['payments', 'list', ...(options.owed === true ? ['--owed'] : [])],
        none: options.owed === true ? 'No wallet owes anything.' : 'No payments by card.',
      }),
    )
  payments
    .command('reconcile')
    .description('compare the payments of the last days with Stripe, and credit what was missed')
    .option('--days <n>', 'how far back, at most 90; default: 3', parseCount)
    .action((options: { readonly days?: number }) =>
      context.operate('payments.reconcile', options, ({ checked, foreign, differences, failures, owed }) => ({
        data: [
          `Compared ${countOf(checked, 'entry', 'entries')} of Stripe, ${foreign} of them not of this server.`,
          ...differences.map(({ payment, before, after }) => `${payment}: ${before} -> ${after}`),
          `${countOf(differences.length, 'difference')}, all brought to the wallets. Owed by wallets: ${owed} USD.`,
          ...failures.map((failure) => `Failed: ${failure}`),
        ]
          .map((text) => `${text}\n`)
          .join(''),
      })),
    )
}
