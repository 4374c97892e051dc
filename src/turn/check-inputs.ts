import type { Model } from '../catalog/catalog.ts'
import { type Problem, problem } from '../model/problem.ts'
import type { OtherInput, TurnRequest } from '../model/turn.ts'

const NAMED = { image: 'an image', audio: 'audio', file: 'a file' } as const satisfies Record<
  OtherInput['kind'],
  string
>

/** What only the chosen model can tell about a request: which inputs it takes, and how many choices. */
export function checkInputs(model: Model, turn: TurnRequest): Problem | undefined {
  const other = turn.otherInputs.find((input) => !model.inputs.includes(input.kind))
  if (other) {
    const message = `\`${other.param}\` is ${NAMED[other.kind]}, and \`${turn.model}\` takes ${model.inputs.join(', ')} only. Leave the part out, or choose a model that takes it.`
    return problem('unsupported_content', message, { param: other.param })
  }
  if (turn.choices > model.choicesMax) {
    const message = `\`n\` is ${turn.choices}; \`${turn.model}\` gives at most ${model.choicesMax} choice${model.choicesMax === 1 ? '' : 's'} a request.`
    return problem('unsupported_value', message, { param: 'n' })
  }
  return undefined
}
