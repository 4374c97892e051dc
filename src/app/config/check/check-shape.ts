import type { z } from 'zod'
import { nearestName } from '../../../lib/nearest-name.ts'
import { type ConfigPath, type ConfigProblem, formatPath } from '../config-problem.ts'
import { isPlainReference, isSecretPath } from '../read/credentials.ts'
import { type LocatedNode, nodeAt, placeAt, plainOf } from '../read/located-tree.ts'
import { configSchema } from '../schema/config-schema.ts'
import { AS_WRITTEN } from '../schema/scalars.ts'
import { keysOf, schemaAt } from '../schema/schema-at.ts'

/** Everything that is wrong with a value by itself: unknown keys, wrong types, nonsense. */
export function checkShape(tree: LocatedNode): ConfigProblem[] {
  const parsed = configSchema.safeParse(plainOf(tree))
  if (parsed.success) return []
  return parsed.error.issues.flatMap((issue) => problemsOf(tree, issue))
}

function problemsOf(tree: LocatedNode, issue: z.core.$ZodIssue): ConfigProblem[] {
  const path = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(tree, path, key))
  const { expected, cure, whole } = expectationOf(issue)
  const place = placeAt(tree, path)
  const message = whole ? expected : `${foundAt(tree, path)}, expected ${expected}`
  const node = nodeAt(tree, path)
  const written = node?.kind === 'scalar' ? node.source : ''
  return [{ place, path: formatPath(path), message, cure: cure?.replace(AS_WRITTEN, written) ?? `Write ${expected}.` }]
}

interface Expectation {
  readonly expected: string
  readonly cure?: string | undefined
  /** The message says it all: what was found would add nothing. */
  readonly whole?: boolean
}

const SHAPES: Readonly<Record<string, string>> = { object: 'a map', record: 'a map', array: 'a list' }

function expectationOf(issue: z.core.$ZodIssue): Expectation {
  switch (issue.code) {
    case 'custom': {
      const whole = issue.params?.whole === true
      return { expected: issue.message, cure: issue.params?.cure as string | undefined, whole }
    }
    case 'invalid_type': {
      const expected = SHAPES[issue.expected] ?? issue.expected
      return { expected, cure: `Write ${expected}, or leave the key out if it may be absent.` }
    }
    case 'invalid_key':
      return { expected: issue.issues[0]?.message ?? 'another name' }
    default:
      return { expected: issue.message }
  }
}

function unknownKey(tree: LocatedNode, path: ConfigPath, key: string): ConfigProblem {
  const known = keysOf(schemaAt(configSchema, path))
  const near = nearestName(key, known)
  const parent = nodeAt(tree, path)
  const place = parent?.kind === 'map' ? parent.entries.get(key)?.keyPlace : undefined
  return {
    place: place ?? placeAt(tree, path),
    path: formatPath([...path, key]),
    message: 'there is no such key',
    cure: near === undefined ? `Known here: ${known.join(', ')}.` : `Did you mean ${near}?`,
  }
}

/** What was written there, as written: never what a reference stands for, and nothing at all of a secret. */
function foundAt(tree: LocatedNode, path: ConfigPath): string {
  const node = nodeAt(tree, path)
  if (node === undefined) return 'missing'
  if (node.kind === 'map') return 'found a map'
  if (node.kind === 'list') return 'found a list'
  if (node.value === null) return 'found nothing'
  const secret = isSecretPath(path) || node.source.includes('@')
  if (secret && !isPlainReference(node.source))
    return typeof node.value === 'string'
      ? `found a text of ${node.value.length} characters`
      : `found a ${typeof node.value}`
  if (typeof node.value !== 'string') return `found ${node.source}`
  return `found ${JSON.stringify(node.source.length > 60 ? `${node.source.slice(0, 60)}…` : node.source)}`
}
