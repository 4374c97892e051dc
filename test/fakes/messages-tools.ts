import { isObject } from '../../src/lib/types.ts'
import { judgeHeldSchema } from './messages-schema.ts'
import { demand, demandKnown, demandList, demandText, demandToolName } from './strict-request.ts'

const KNOWN = new Set(['type', 'name', 'description', 'input_schema', 'strict', 'cache_control'])

/** The names of the tools. */
export function judgeTools(tools: unknown): ReadonlySet<string> {
  const names = new Set<string>()
  if (tools === undefined) return names
  for (const [at, tool] of demandList(tools, 'tools').entries()) {
    const where = `tools.${at}`
    demandKnown(tool, KNOWN, `${where}.`)
    const name = demandToolName(tool.name, where)
    demand(!names.has(name), 'tool names must be unique', where)
    names.add(name)
    if (tool.description !== undefined) demandText(tool.description, where)
    judgeInput(tool.input_schema, where)
    if (tool.strict === true) judgeHeldSchema(tool.input_schema, where)
  }
  return names
}

function judgeInput(schema: unknown, where: string): void {
  demand(isObject(schema) && schema.type === 'object', 'input_schema.type: should be object', where)
  for (const name of ['$schema', 'anyOf', 'oneOf', 'allOf']) {
    demand(!(name in schema), `input_schema does not support ${name} at the top level`, where)
  }
  const { properties, required } = schema
  demand(properties === undefined || isObject(properties), 'input_schema.properties: should be an object', where)
  demand(required === undefined || Array.isArray(required), 'input_schema.required: should be a list', where)
}

const CHOICES = new Set(['auto', 'any', 'none', 'tool'])

export function judgeChoice(choice: unknown, tools: ReadonlySet<string>): void {
  if (choice === undefined) return
  demand(tools.size > 0, 'tool_choice may only be specified while providing tools', 'tool_choice')
  demand(isObject(choice) && CHOICES.has(String(choice.type)), 'unknown type', 'tool_choice')
  const { type, name, disable_parallel_tool_use } = choice
  demandKnown(choice, new Set(['type', ...(type === 'tool' ? ['name'] : []), 'disable_parallel_tool_use']))
  demand(type !== 'none' || disable_parallel_tool_use === undefined, 'extra inputs are not permitted', 'tool_choice')
  demand(type !== 'tool' || tools.has(String(name)), `tool '${name}' not found in provided tools`, 'tool_choice')
}
