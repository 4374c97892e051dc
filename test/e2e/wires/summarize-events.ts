import { type Fields, isObject } from '../../../src/lib/types.ts'
import type { Received } from './wires-server.ts'

/**
 * What a provider was sent, shortly, in the same words for every wire: who speaks, what is called and what it gave, and the
 * seals and signatures that it got back, each where it stood.
 */
export function shortly(receivedRequest: Received | undefined): string[] {
  if (receivedRequest === undefined) return []
  if (Array.isArray(receivedRequest.contents)) return receivedRequest.contents.flatMap(contentOf)
  if (Array.isArray(receivedRequest.input)) return receivedRequest.input.map(itemOf)
  const messages = receivedRequest.messages as readonly Fields[]
  return messages.flatMap((message) => (Array.isArray(message.content) ? blocksOf(message) : chatMessageOf(message)))
}

function contentOf({ role, parts }: Fields): string[] {
  return (parts as readonly Fields[]).flatMap((part) => {
    const { functionCall: call, functionResponse: result, thoughtSignature: signature, text } = part
    const signed = signature === undefined ? [] : [String(signature)]
    if (isObject(call)) return [...signed, `${call.name}()`]
    if (isObject(result)) return [resultWords(result.response)]
    return [...(text === '' ? [] : [role === 'model' ? 'assistant' : 'user']), ...signed]
  })
}

const resultWords = (response: unknown): string => (isObject(response) ? String(response.result) : 'nothing')

function itemOf({ type, role, name, encrypted_content: seal, output }: Fields): string {
  if (type === 'reasoning') return String(seal ?? 'unsealed')
  if (type === 'function_call') return `${name}()`
  return type === 'function_call_output' ? String(output) : String(role)
}

function blocksOf({ role, content }: Fields): string[] {
  return (content as readonly Fields[]).map((block) => {
    if (block.type === 'thinking') return String(block.signature)
    if (block.type === 'redacted_thinking') return String(block.data)
    if (block.type === 'tool_use') return `${block.name}()`
    return block.type === 'tool_result' ? String(block.content) : String(role)
  })
}

function chatMessageOf({ role, content, tool_calls: calls = [], reasoning_content: thought }: Fields): string[] {
  if (role === 'tool') return [String(content)]
  const emitted = content === null || content === undefined ? [] : [String(role)]
  const named = (calls as readonly { readonly function: Fields }[]).map(({ function: { name } }) => `${name}()`)
  return [...(thought === undefined ? [] : [`thought: ${thought}`]), ...emitted, ...named]
}

/** Seals and signatures alone. */
export const sealsIn = (receivedRequest: Received | undefined): string[] =>
  shortly(receivedRequest).filter((each) => /^(?:sealed|signed)-by-/.test(each))

/** Everything but them. */
export const deliveredIn = (receivedRequest: Received | undefined): string[] =>
  shortly(receivedRequest).filter((each) => !/^(?:sealed|signed)-by-|^thought: |^skip_thought/.test(each))
