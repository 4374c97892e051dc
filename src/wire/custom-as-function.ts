import type { ToolDefinition } from '../model/conversation.ts'

type CustomTool = Extract<ToolDefinition, { readonly type: 'custom' }>

/** A tool that takes free text, for a server that has functions only: one string, which `decode-custom-input.ts` finds again. */
export function customAsFunction({ description, grammar }: CustomTool): CustomFunction {
  // A grammar that nobody enforces is at least told to the model.
  const rule = grammar && `The input must match this ${grammar.syntax} grammar:\n${grammar.definition}`
  const told = [description, rule].filter((text) => text !== undefined && text !== '').join('\n\n')
  return { description: told === '' ? undefined : told, parameters: PARAMETERS }
}

export interface CustomFunction {
  readonly description: string | undefined
  readonly parameters: Readonly<Record<string, unknown>>
}

const PARAMETERS = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
}
