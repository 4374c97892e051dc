export interface ToolDefinition {
  readonly name: string
  readonly description?: string
  readonly parameters?: object
  readonly strict?: boolean
}

export type ToolsOutcome =
  | { readonly kind: 'tools'; readonly tools: readonly ToolDefinition[] }
  | { readonly kind: 'not-json'; readonly message: string }
  | { readonly kind: 'not-a-list' }
  /** `number` counts from one. */
  | { readonly kind: 'wrong-tool'; readonly number: number; readonly why: 'no-function' | 'no-name' | 'parameters' }
  | { readonly kind: 'same-name'; readonly name: string }

const NAME = /^[\w-]{1,64}$/

/** Accepts the tools of both protocols, with or without `function` around each one. */
export function readTools(text: string): ToolsOutcome {
  if (text.trim() === '') return { kind: 'tools', tools: [] }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { kind: 'not-json', message: error instanceof Error ? error.message : String(error) }
  }
  if (!Array.isArray(value)) return { kind: 'not-a-list' }
  const tools: ToolDefinition[] = []
  for (const [index, given] of value.entries()) {
    const tool = readTool(given)
    if (typeof tool === 'string') return { kind: 'wrong-tool', number: index + 1, why: tool }
    if (tools.some(({ name }) => name === tool.name)) return { kind: 'same-name', name: tool.name }
    tools.push(tool)
  }
  return { kind: 'tools', tools }
}

function readTool(given: unknown): ToolDefinition | 'no-function' | 'no-name' | 'parameters' {
  if (!isRecord(given) || (given.type ?? 'function') !== 'function') return 'no-function'
  const inner = isRecord(given.function) ? given.function : given
  const { name, description, parameters, strict } = inner
  if (typeof name !== 'string' || !NAME.test(name)) return 'no-name'
  if (parameters !== undefined && !isRecord(parameters)) return 'parameters'
  return {
    name,
    ...(typeof description === 'string' && { description }),
    ...(parameters !== undefined && { parameters }),
    ...(typeof strict === 'boolean' && { strict }),
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const EXAMPLE_TOOLS = JSON.stringify(
  [
    {
      type: 'function',
      name: 'get_weather',
      description: 'The weather of a city now',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  ],
  null,
  2,
)
