import { type Fields, isObject } from '../../lib/is-object.ts'
import { stringOf } from '../../lib/string-of.ts'
import type { ToolChoice, ToolDefinition, ToolName } from '../../model/conversation.ts'
import { markIn } from '../fields/cache-marks.ts'

/** The client's tools, in the newer form or the older. Hosted ones have been left out at the door. */
export function readToolDefinitions({ tools, functions }: Fields): ToolDefinition[] {
  const listed = (list: unknown): Fields[] => (Array.isArray(list) ? list.filter(isObject) : [])
  return [...listed(tools).flatMap(readTool), ...listed(functions).flatMap(readFunction)]
}

function readTool(tool: Fields): ToolDefinition[] {
  const definition = tool[String(tool.type)]
  if (!isObject(definition)) return []
  const mark = { ...markIn(definition), ...markIn(tool) }
  if (tool.type === 'function') return readFunction(definition).map((read) => ({ ...read, ...mark }))
  return tool.type === 'custom' ? readCustom(definition).map((read) => ({ ...read, ...mark })) : []
}

function readFunction({ name, description, parameters, strict }: Fields): ToolDefinition[] {
  if (typeof name !== 'string') return []
  return [
    {
      type: 'function',
      name,
      namespace: undefined,
      description: stringOf(description),
      parameters: isObject(parameters) ? parameters : undefined,
      // Said in so many words, because elsewhere silence means the opposite.
      strict: strict === true,
    },
  ]
}

function readCustom({ name, description, format }: Fields): ToolDefinition[] {
  if (typeof name !== 'string') return []
  return [
    {
      type: 'custom',
      name,
      namespace: undefined,
      description: stringOf(description),
      grammar: readGrammar(format),
    },
  ]
}

/** Chat has it in an object of its own; some clients write it flat, as Responses has it. */
function readGrammar(format: unknown): { syntax: string; definition: string } | undefined {
  if (!isObject(format) || format.type !== 'grammar') return undefined
  const { syntax, definition } = isObject(format.grammar) ? format.grammar : format
  return typeof syntax === 'string' && typeof definition === 'string' ? { syntax, definition } : undefined
}

/** What the client wants done with its tools; undefined where it has not said, or not in words that we know. */
export function readToolChoice({ tool_choice, function_call }: Fields): ToolChoice | undefined {
  const choice = tool_choice ?? function_call
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { type: choice }
  if (choice === 'any') return { type: 'required' }
  if (!isObject(choice)) return undefined
  if (choice.type === 'allowed_tools') return readAllowed(choice)
  // The older form is nothing but a name.
  const named = readName(choice) ?? readName({ type: 'function', function: choice })
  return named && { type: 'tool', ...named }
}

function readAllowed(choice: Fields): ToolChoice {
  const { mode, tools } = isObject(choice.allowed_tools) ? choice.allowed_tools : choice
  const names = Array.isArray(tools) ? tools.filter(isObject).flatMap((tool) => readName(tool) ?? []) : []
  return { type: 'allowed', mode: mode === 'required' ? 'required' : 'auto', tools: names }
}

function readName(tool: Fields): ToolName | undefined {
  const type = tool.type === 'custom' ? 'custom' : 'function'
  const named = tool[type]
  if (!isObject(named) || typeof named.name !== 'string') return undefined
  return { name: named.name, namespace: undefined, tool: type }
}
