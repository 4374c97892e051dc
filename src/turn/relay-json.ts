import type { UpstreamBody } from '../upstream/upstream-answer.ts'
import type { ChatDialect } from '../wire/chat/dialects.ts'
import type { MintIds } from '../wire/chat/mend-chunk.ts'
import { classifyRefusal } from '../wire/chat/read-provider-error.ts'
import { readReply } from '../wire/chat/read-reply.ts'
import { scanJson } from '../wire/json/scan-json.ts'
import { overloaded, problemOfRefusal } from './provider-refusal.ts'
import type { RunFate } from './run.ts'
import type { TurnAbort } from './turn-abort.ts'

export interface JsonRelay {
  readonly body: UpstreamBody
  readonly abort: TurnAbort
  readonly dialect: ChatDialect
  readonly mint: MintIds
  readonly bounds: { readonly bodyBytesMax: number; readonly depthMax: number; readonly valuesMax: number }
}

/** A whole answer at once: it is read, checked, and handed on as the provider's own bytes. */
export async function relayJson(relay: JsonRelay): Promise<RunFate> {
  const bytes = await readWhole(relay)
  if (bytes === undefined) {
    const { reason } = relay.abort
    if (reason) return { kind: 'stopped', reason, accepted: true, used: { usage: undefined, outputBytes: 0 } }
    return unusable('The connection to the provider ended before its answer was complete.')
  }
  const scanned = scanJson(bytes, relay.bounds)
  const value = scanned.kind === 'scanned' ? parse(bytes) : undefined
  if (scanned.kind !== 'scanned' || value === undefined)
    return unusable('The provider answered with something that is not JSON.')
  const reply = readReply({ bytes, members: scanned.members }, value, relay)
  switch (reply.kind) {
    case 'reply':
      return { kind: 'finished', answer: { kind: 'json', body: reply.body, rewritten: reply.rewritten }, used: reply }
    case 'error': {
      // An error with status 200 is an error all the same.
      const error = { status: undefined, message: reply.said.message, code: reply.said.code, param: undefined }
      return { kind: 'failed', problem: problemOfRefusal(classifyRefusal(error), error, undefined) }
    }
    case 'garbled':
      return unusable('The provider answered with JSON that is not a completion.')
  }
}

const unusable = (message: string): RunFate => ({ kind: 'failed', problem: overloaded(message) })

/** Undefined when the body broke off or is larger than any answer may be. */
async function readWhole({ body, bounds }: JsonRelay): Promise<Buffer | undefined> {
  const parts: Buffer[] = []
  let size = 0
  try {
    for (let chunks = await body.read(); chunks.length > 0; chunks = await body.read()) {
      for (const chunk of chunks) size += chunk.length
      if (size > bounds.bodyBytesMax) {
        body.cancel()
        return undefined
      }
      parts.push(...chunks)
    }
  } catch {
    return undefined
  }
  return Buffer.concat(parts)
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
