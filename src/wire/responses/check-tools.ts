import { type Fields, isObject } from '../../lib/is-object.ts'
import { type Problem, problem } from '../../model/problem.ts'
import {
  checkEach,
  checkMaybeText,
  checkName,
  checkText,
  checkValue,
  checkWord,
  isAbsent,
  missing,
  shown,
  wrongType,
} from '../fields/check-value.ts'

/** A list of tools, as `tools` or an `additional_tools` item has it. Hosted and unknown ones only have to have a type. */
export function checkTools(param: string, tools: unknown): Problem | undefined {
  if (isAbsent(tools)) return missing(param)
  if (!Array.isArray(tools)) return wrongType(param, tools, 'an array')
  const names = new Set<string>()
  return checkEach(param, tools, (place, tool) => checkTool(place, tool, names))
}

/** `names` are those of the list so far, with their namespaces. */
function checkTool(param: string, tool: unknown, names: Set<string>): Problem | undefined {
  if (!isObject(tool)) return wrongType(param, tool, 'an object')
  const found = checkText(`${param}.type`, tool.type)
  if (found) return found
  if (tool.type === 'namespace') return checkNamespace(param, tool, names)
  return checkOwn(param, tool) ?? checkTwice(param, tool, undefined, names)
}

function checkNamespace(param: string, tool: Readonly<Fields>, names: Set<string>): Problem | undefined {
  const { name, description, tools } = tool
  const found = checkName(`${param}.name`, name) ?? checkMaybeText(`${param}.description`, description)
  if (found) return found
  if (isAbsent(tools)) return missing(`${param}.tools`)
  if (!Array.isArray(tools)) return wrongType(`${param}.tools`, tools, 'an array')
  return checkEach(`${param}.tools`, tools, (place, inner) => {
    if (!isObject(inner)) return wrongType(place, inner, 'an object')
    const wrong = checkText(`${place}.type`, inner.type) ?? checkOwn(place, inner)
    return wrong ?? checkTwice(place, inner, name as string, names)
  })
}

function checkOwn(param: string, tool: Readonly<Fields>): Problem | undefined {
  if (tool.type !== 'function' && tool.type !== 'custom') return undefined
  const found = checkName(`${param}.name`, tool.name) ?? checkMaybeText(`${param}.description`, tool.description)
  if (found) return found
  return tool.type === 'custom' ? checkGrammar(`${param}.format`, tool.format) : checkFunction(param, tool)
}

function checkFunction(param: string, { parameters, strict }: Readonly<Fields>): Problem | undefined {
  return (
    (isAbsent(parameters) ? undefined : checkValue(`${param}.parameters`, parameters, { kind: 'object' })) ??
    (isAbsent(strict) ? undefined : checkValue(`${param}.strict`, strict, { kind: 'boolean' }))
  )
}

const INPUT_FORMATS = new Set(['text', 'grammar'])

function checkGrammar(param: string, format: unknown): Problem | undefined {
  if (isAbsent(format)) return undefined
  if (!isObject(format)) return wrongType(param, format, 'an object')
  const found = checkWord(`${param}.type`, format.type, INPUT_FORMATS)
  if (found || format.type === 'text') return found
  return checkText(`${param}.syntax`, format.syntax) ?? checkText(`${param}.definition`, format.definition)
}

function checkTwice(
  param: string,
  { type, name }: Readonly<Fields>,
  namespace: string | undefined,
  names: Set<string>,
): Problem | undefined {
  if (type !== 'function' && type !== 'custom') return undefined
  const full = JSON.stringify([namespace, name])
  if (names.has(full)) {
    const where = namespace === undefined ? '' : ` of namespace ${shown(namespace)}`
    const message = `The tool ${shown(name as string)}${where} is declared twice. Give each tool a name of its own.`
    return problem('invalid_value', message, { param: `${param}.name` })
  }
  names.add(full)
  return undefined
}
