import type { CommandContext } from './command-context.ts'
import { EXIT } from './exit-codes.ts'

/** What cannot be undone is done only after its name was typed, or with `--yes`; without a terminal nothing is asked. */
export async function confirmByName(
  context: CommandContext,
  act: { readonly what: string; readonly name: string; readonly yes: boolean },
): Promise<boolean> {
  if (act.yes) return true
  const { terminal } = context.deps
  if (!terminal.interactive) {
    context.fail(EXIT.usage, `${act.what} cannot be undone, and nobody can be asked here. Repeat with --yes.`)
    return false
  }
  const answer = await terminal.ask(`${act.what} cannot be undone. Type its name (${act.name}) to go on: `)
  if (answer?.trim() === act.name) return true
  context.fail(EXIT.failure, 'The name did not match; nothing was changed.')
  return false
}
