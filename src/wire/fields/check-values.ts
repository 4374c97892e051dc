import type { Fields } from '../../lib/is-object.ts'
import { type Problem, problem } from '../../model/problem.ts'
import { checkValue } from './check-value.ts'
import { type FieldTable, STANDARD_VALUES } from './field-rule.ts'

/** The one field without which there is nothing to ask. */
export function checkModel(model: unknown): Problem | undefined {
  if (typeof model === 'string' && model !== '') return undefined
  if (model !== undefined && model !== null && model !== '') return checkValue('model', model, { kind: 'string' })
  return problem(
    'missing_required_parameter',
    'The field `model` is missing. GET /v1/models lists the ids this key may use.',
    { param: 'model' },
  )
}

/** Then the values of the fields that we know: their type and range, and what is not provided. Null means absent. */
export function checkValues(body: Readonly<Fields>, table: FieldTable): Problem | undefined {
  for (const name in body) {
    const value = body[name]
    const rule = Object.hasOwn(table, name) ? table[name] : undefined
    if (!rule || value === null) continue
    if (rule.policy === 'refused' && !STANDARD_VALUES.has(value)) {
      return problem('unsupported_parameter', `\`${name}\` is not provided by this gateway. Leave it out.`, {
        param: name,
      })
    }
    if (rule.policy === 'standard-only' && !STANDARD_VALUES.has(value)) {
      return problem(
        'unsupported_value',
        `\`${name}\` would change the price of the request, and this model's entry does not cover it. Leave it out, or send "auto" or "default".`,
        { param: name },
      )
    }
    const found = rule.check && checkValue(name, value, rule.check)
    if (found) return found
  }
  return undefined
}
