import type { Command } from 'commander'
import type { FormerSecret } from '../account/keys/key-view.ts'
import type { CommandContext } from './command-context.ts'
import { formatPeriods } from './format-subscription.ts'
import { formatFacts } from './table.ts'

export function addKeysShow(keys: Command, context: CommandContext): void {
  keys
    .command('show <key>')
    .description('one key, never its secret, and what is left of its spend caps')
    .action(async (key: string) => {
      await context.operate('keys.show', { key }, (shown, style) => {
        const facts = formatFacts(style, [
          ['id', shown.id],
          ['name', shown.name],
          ['kind', shown.kind],
          ['key', shown.shown],
          ...(shown.former === null ? [] : [formerFact(shown.former)]),
          ...(shown.playground ? [['of', "the console's playground"] as const] : []),
          ['account', `${shown.email} (${shown.account})`],
          ['state', shown.state],
          ['models', shown.models?.join(',') ?? 'all'],
          ['expires', shown.expires_at ?? 'never'],
          ['created', shown.created_at],
        ])
        return { data: shown.spent.length === 0 ? facts : `${facts}\n${formatPeriods(style, 'cap', shown.spent)}` }
      })
    })
}

const formerFact = ({ shown, until }: FormerSecret) => ['former key', `${shown}, until ${until}`] as const
