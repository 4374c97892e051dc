import { type Problem, problem } from '../../model/problem.ts'
import { isObject, wrongType } from './check-fields.ts'

/** Tools are the client's own to run; one that only a provider could run is not provided here. */
export function checkTools(tools: unknown): Problem | undefined {
  if (tools === undefined || tools === null) return undefined
  if (!Array.isArray(tools)) return wrongType('tools', tools, 'an array')
  for (const [index, tool] of tools.entries()) {
    const param = `tools[${index}]`
    if (!isObject(tool)) return wrongType(param, tool, 'an object')
    const { type } = tool
    if (type !== 'function' && type !== 'custom') return unsupported(param, type)
    const definition = tool[type]
    if (!isObject(definition)) return wrongType(`${param}.${type}`, definition, 'an object')
    if (typeof definition.name !== 'string') return wrongType(`${param}.${type}.name`, definition.name, 'a string')
  }
  return undefined
}

function unsupported(param: string, type: unknown): Problem {
  if (typeof type !== 'string') return wrongType(`${param}.type`, type, 'a string')
  return problem(
    'unsupported_tool',
    `\`${param}\` is a tool of type ${JSON.stringify(type.slice(0, 40))}. Tools run by a provider are not provided; define a function and run it yourself.`,
    { param: `${param}.type` },
  )
}
