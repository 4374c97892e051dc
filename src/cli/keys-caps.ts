import type { Command } from 'commander'
import { capsInWords } from './caps-in-words.ts'
import type { CommandContext } from './command-context.ts'
import { EXIT } from './exit-codes.ts'

interface CapsOptions {
  readonly day?: string
  readonly month?: string
}

export function addKeysCaps(keys: Command, context: CommandContext): void {
  keys
    .command('caps <key>')
    .description('what a key may spend in a day or a month of UTC; counts at once')
    .option('--day <usd>', 'e.g. 5.00, or none')
    .option('--month <usd>', 'e.g. 50.00, or none')
    .action(async (key: string, { day, month }: CapsOptions) => {
      if (day === undefined && month === undefined) {
        context.fail(EXIT.usage, 'Say --day, --month or both, in USD; none takes a cap away. See: millrace keys show')
        return
      }
      const args = {
        key,
        ...(day !== undefined && { day: capOf(day) }),
        ...(month !== undefined && { month: capOf(month) }),
      }
      await context.operate('keys.caps', args, (changed) => ({
        data: `"${changed.name}" (${changed.id}) may spend ${capsInWords(changed.caps)}.\n`,
      }))
    })
}

const capOf = (text: string): string | null => (text === 'none' ? null : text)
