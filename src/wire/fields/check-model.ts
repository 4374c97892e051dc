import { type Problem, problem } from '../../model/problem.ts'
import { checkValue } from './check-value.ts'

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
