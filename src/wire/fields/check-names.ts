import { type Problem, problem } from '../../model/problem.ts'
import type { JsonMember } from '../../model/turn.ts'

/** A field name goes into a message; what a client may put there is bounded. */
const NAME_SHOWN_MAX = 64

/**
 * Names first, on the bytes: every field at most once, the control fields exactly as they are spelled. JSON readers
 * disagree about duplicates, escapes and letter case, and the provider's reader is not ours.
 */
export function checkNames(members: readonly JsonMember[], controls: ReadonlySet<string>): Problem | undefined {
  const seen = new Set<string>()
  for (const { name, escaped } of members) {
    const control = controlFieldMeant(name, controls)
    if (control !== undefined && (escaped || name !== control)) return misspelled(name, control, escaped)
    if (seen.has(name)) return twice(name)
    seen.add(name)
  }
  return undefined
}

function controlFieldMeant(name: string, controls: ReadonlySet<string>): string | undefined {
  if (controls.has(name)) return name
  const lower = name.toLowerCase()
  return controls.has(lower) ? lower : undefined
}

const misspelled = (name: string, control: string, escaped: boolean): Problem =>
  escaped
    ? problem('unsupported_parameter', `The name of \`${control}\` is written with escapes. Write it plainly, once.`, {
        param: control,
      })
    : problem(
        'unsupported_parameter',
        `Unknown field \`${name}\`. Did you mean \`${control}\`? Field names are in lower case.`,
        { param: name },
      )

const twice = (name: string): Problem =>
  problem('duplicate_field', `The field \`${name.slice(0, NAME_SHOWN_MAX)}\` appears twice. Send it once.`, {
    param: name.slice(0, NAME_SHOWN_MAX),
  })
