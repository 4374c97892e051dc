import { readFileSync } from 'node:fs'

/**
 * What becomes of a thing on its way into another protocol. `ours`: Millrace does it itself, whatever the lane. What is
 * `kept` stands in no table.
 */
export type Fate = 'kept' | 'changed' | 'lost' | 'ours' | 'refused'

const ROW = /^\| `(.+?)` \| (.*) \|$/

/** The rows of a section of a page, without their last column, which is for people. */
export function lossRows(page: string, section: string): string[] {
  const text = readFileSync(new URL(`../../docs/protocols/${page}.md`, import.meta.url), 'utf8')
  const found = text.split(/^## /m).find((part) => part.startsWith(`${section}\n`))
  if (found === undefined) throw new Error(`${page}.md has no section "${section}"`)
  return found.split('\n').flatMap((line) => {
    const [, what, rest] = ROW.exec(line) ?? []
    if (what === undefined || rest === undefined) return []
    return [[what, ...rest.split(' | ').slice(0, -1)].join(' | ')]
  })
}

/** The places at which two values differ. */
export function differences(one: unknown, other: unknown, path = ''): string[] {
  if (Object.is(one, other)) return []
  const [left, right] = [membersOf(one), membersOf(other)]
  if (left === undefined || right === undefined) return [path]
  const names = new Set([...Object.keys(left), ...Object.keys(right)])
  return [...names].flatMap((name) => differences(left[name], right[name], `${path}.${name}`))
}

const membersOf = (value: unknown): Record<string, unknown> | undefined =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined

/**
 * The fate of a thing, by what was meant with and without it on one side, and is understood on the other: lost when it
 * makes no difference there, changed when what it makes is not what was meant.
 */
export function fateOf(meant: WithAndWithout, understood: WithAndWithout): 'kept' | 'changed' | 'lost' {
  if (differences(understood.without, understood.with).length === 0) return 'lost'
  const usual = new Set(differences(meant.without, understood.without))
  return differences(meant.with, understood.with).some((path) => !usual.has(path)) ? 'changed' : 'kept'
}

export interface WithAndWithout {
  readonly with: unknown
  readonly without: unknown
}
