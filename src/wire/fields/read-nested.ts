import { isObject } from '../../lib/is-object.ts'
import { type Problem, problem, type Refused, refused } from '../../model/problem.ts'
import { memberBytes } from '../../model/turn.ts'
import { INNER_BOUNDS, scanJson } from '../json/scan-json.ts'
import type { ParsedBody } from '../request-reader.ts'
import { checkNames } from './check-names.ts'
import { checkValue, wrongType } from './check-value.ts'
import { STANDARD_VALUES, type ValueCheck } from './field-rule.ts'

/** What is inside the fields that are objects and are written anew: what is not listed here goes nowhere. */
export type NestedTable = Readonly<Record<string, Readonly<Record<string, ValueCheck | 'standard-only'>>>>

export type ReadNested = { readonly kind: 'read'; readonly ignored: readonly string[] } | Refused

/** Checks nested control fields as strictly as the outer ones, and names what of them is ignored. */
export function readNested(body: ParsedBody, table: NestedTable): ReadNested {
  const ignored: string[] = []
  for (const [outer, rules] of Object.entries(table)) {
    const inner = body.value[outer]
    if (inner === undefined || inner === null) continue
    const found = isObject(inner) ? checkInner(body, outer, inner, rules) : wrongType(outer, inner, 'an object')
    if (found) return refused(found)
    for (const name of Object.keys(inner)) if (!Object.hasOwn(rules, name)) ignored.push(`${outer}.${name}`)
  }
  return { kind: 'read', ignored }
}

function checkInner(
  body: ParsedBody,
  outer: string,
  inner: Readonly<Record<string, unknown>>,
  rules: Readonly<Record<string, ValueCheck | 'standard-only'>>,
): Problem | undefined {
  const bytes = memberBytes(body, outer)
  const scanned = bytes && scanJson(bytes, INNER_BOUNDS)
  if (scanned?.kind === 'too-many-values') {
    return problem('invalid_value', `\`${outer}\` has more members than any request needs.`, { param: outer })
  }
  if (scanned?.kind !== 'scanned') throw new Error(`${outer} was parsed and cannot be scanned`)
  const misnamed = checkNames(scanned.members, new Set(Object.keys(rules)))
  if (misnamed) return { ...misnamed, param: `${outer}.${misnamed.param}` }
  for (const [name, rule] of Object.entries(rules)) {
    const given = inner[name]
    if (given === undefined || given === null) continue
    const param = `${outer}.${name}`
    const found = rule === 'standard-only' ? checkStandard(param, given) : checkValue(param, given, rule)
    if (found) return found
  }
  return undefined
}

function checkStandard(param: string, given: unknown): Problem | undefined {
  if (STANDARD_VALUES.has(given)) return undefined
  const message = `\`${param}\` would change the price of the request, and this model's entry does not cover it. Leave it out.`
  return problem('unsupported_value', message, { param })
}
