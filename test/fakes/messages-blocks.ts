import { type Fields, isObject } from '../../src/lib/types.ts'
import { demand, demandKnown, demandList, demandText, demandToolName } from './strict-request.ts'

const IMAGES = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])
const ID = /^[a-zA-Z0-9_-]{1,64}$/

const KNOWN: Readonly<Record<string, readonly string[]>> = {
  text: ['text', 'cache_control'],
  image: ['source', 'cache_control'],
  document: ['source', 'title', 'context', 'cache_control'],
  tool_use: ['id', 'name', 'input', 'cache_control'],
  tool_result: ['tool_use_id', 'content', 'is_error', 'cache_control'],
  thinking: ['thinking', 'signature'],
  redacted_thinking: ['data'],
}

/** Who may say what. */
const BY_ROLE: Readonly<Record<string, readonly string[]>> = {
  user: ['text', 'image', 'document', 'tool_result'],
  assistant: ['text', 'tool_use', 'thinking', 'redacted_thinking'],
  system: ['text'],
  tool_result: ['text', 'image', 'document'],
}

/** The blocks of a message, each of a kind that its role may send. */
export function judgeBlocks(content: unknown, role: string, where: string): readonly Fields[] {
  if (typeof content === 'string') {
    demand(content.trim() !== '', 'text content blocks must contain non-whitespace text', where)
    return [{ type: 'text', text: content }]
  }
  const blocks = demandList(content, where)
  demand(blocks.length > 0, 'at least one content block is required', where)
  for (const [at, block] of blocks.entries()) judgeBlock(block, role, `${where}.${at}`)
  return blocks
}

function judgeBlock(block: Fields, role: string, where: string): void {
  const type = demandText(block.type, `${where}.type`)
  demand(BY_ROLE[role]?.includes(type) === true, `a block '${type}' may not stand here`, where)
  demandKnown(block, new Set(['type', ...(KNOWN[type] ?? [])]), `${where}.`)
  judgeCacheControl(block, where)
  if (type === 'text') {
    demand(demandText(block.text, where).trim() !== '', 'text content blocks must contain non-whitespace text', where)
  } else if (type === 'image') judgeImage(block.source, where)
  else if (type === 'document') judgeDocument(block, where)
  else if (type === 'tool_use') judgeToolUse(block, where)
  else if (type === 'tool_result') judgeToolResult(block, where)
  else if (type === 'thinking') demand(demandText(block.signature, where) !== '', 'signature: field required', where)
  else demandText(block.data, where)
}

function judgeCacheControl({ cache_control }: Fields, where: string): void {
  if (cache_control === undefined) return
  demand(isObject(cache_control) && cache_control.type === 'ephemeral', 'cache_control.type: ephemeral', where)
}

function judgeToolUse({ id, name, input }: Fields, where: string): void {
  demand(ID.test(demandText(id, where)), "tool_use.id: should match '^[a-zA-Z0-9_-]+$'", where)
  demandToolName(name, where)
  demand(isObject(input), 'tool_use.input: should be an object', where)
}

function judgeToolResult({ tool_use_id, content, is_error }: Fields, where: string): void {
  demandText(tool_use_id, where)
  demand(is_error === undefined || typeof is_error === 'boolean', 'is_error: should be a boolean', where)
  if (typeof content !== 'string' && content !== undefined) {
    for (const [at, block] of demandList(content, where).entries()) judgeBlock(block, 'tool_result', `${where}.${at}`)
  }
}

function judgeImage(source: unknown, where: string): void {
  demand(isObject(source), 'source: field required', where)
  if (source.type === 'url') {
    judgeUrl(source, where)
    return
  }
  demandKnown(source, new Set(['type', 'media_type', 'data']), where)
  demand(source.type === 'base64' && IMAGES.has(String(source.media_type)), 'source.media_type: is not taken', where)
  demandBase64(source.data, where)
}

function judgeDocument({ source, title }: Fields, where: string): void {
  demand(isObject(source), 'source: field required', where)
  demand(title === undefined || (typeof title === 'string' && title !== ''), 'title: should be a text', where)
  if (source.type === 'url') {
    judgeUrl(source, where)
    return
  }
  demandKnown(source, new Set(['type', 'media_type', 'data']), where)
  if (source.type === 'text') {
    demand(source.media_type === 'text/plain' && demandText(source.data, where) !== '', 'source: no plain text', where)
    return
  }
  demand(source.type === 'base64' && source.media_type === 'application/pdf', 'source.media_type: is not taken', where)
  demandBase64(source.data, where)
}

function judgeUrl(source: Fields, where: string): void {
  demandKnown(source, new Set(['type', 'url']), where)
  demand(/^https?:\/\//i.test(demandText(source.url, where)), 'source.url: only http and https are taken', where)
}

const demandBase64 = (data: unknown, where: string): void =>
  demand(/^[A-Za-z0-9+/]+={0,2}$/.test(demandText(data, where)), 'source.base64: invalid base64 data', where)
