import type { TurnRequest } from '../../model/turn.ts'
import { scrub } from '../../telemetry/scrub.ts'

/** What the protocols call the input, up to the first dot or bracket. */
const INPUT: ReadonlySet<string> = new Set(['messages', 'input', 'contents', 'system', 'systemInstruction'])
const OUTPUT_CAP =
  /^(?:max_tokens|max_completion_tokens|max_output_tokens|(?:generationConfig|generation_config)\.max(?:OutputTokens|_output_tokens))$/
const EFFORT =
  /^(?:reasoning_effort|reasoning(?:\.effort)?|thinking(?:\..*)?|output_config\.effort|(?:generationConfig|generation_config)\.thinking.*)$/

/**
 * The field that a provider's error names, under the name that the client sent it by. The client gets it verbatim, so anything
 * that is not a plain field name is dropped.
 */
export function clientField(
  param: string | undefined,
  { inputField, outputCapParam, effortParam }: Pick<TurnRequest, 'inputField' | 'outputCapParam' | 'effortParam'>,
): string | null {
  if (param === undefined || !/^[\w.[\]-]{1,100}$/.test(param) || scrub(param) !== param) return null
  if (OUTPUT_CAP.test(param)) return outputCapParam
  if (EFFORT.test(param)) return effortParam
  const [head = ''] = param.split(/[.[]/)
  return INPUT.has(head) && head !== inputField ? inputField : param
}
