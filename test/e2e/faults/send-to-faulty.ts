import type { FaultServer } from './fault-server.ts'

/** What a client made of an answer, whatever became of it. */
export interface Parsed {
  readonly status: number
  readonly headers: Headers
  readonly requestId: string
  /** The JSON body, where the answer is one. */
  // biome-ignore lint/suspicious/noExplicitAny: judged by what the test expects of it
  readonly json: any
  // biome-ignore lint/suspicious/noExplicitAny: judged by what the test expects of it
  readonly chunks: readonly any[]
  /** Text of the answer, as the client reads it. */
  readonly text: string
  /** Bytes of the request's body. */
  readonly receivedBytes: number
  readonly dones: number
}

export const MESSAGES = [
  { role: 'user', content: 'Say good morning, please: it is early, and nobody has said it yet.' },
]

export interface Question {
  readonly key: string
  readonly model: string
  readonly stream: boolean
  readonly sends?: object
}

/** Asks as a strict client does: bytes that are not UTF-8, or an event that is not whole, are an error of the test. */
export async function sendToFaulty({ server }: Pick<FaultServer, 'server'>, question: Question): Promise<Parsed> {
  const { key, model, stream, sends } = question
  const body = JSON.stringify({
    model,
    messages: MESSAGES,
    ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
    ...sends,
  })
  const response = await fetch(`${server.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  })
  const about = {
    status: response.status,
    headers: response.headers,
    requestId: response.headers.get('x-request-id') ?? '',
    receivedBytes: Buffer.byteLength(body),
  }
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(await response.arrayBuffer()))
    return { ...about, json, chunks: [], text: json.choices?.[0]?.message?.content ?? '', dones: 0 }
  }
  const data = await readEvents(response)
  const chunks = data.filter((text) => text !== '[DONE]').map((text) => JSON.parse(text))
  const text = chunks.map((chunk) => chunk.choices?.[0]?.delta?.content ?? '').join('')
  return { ...about, json: undefined, chunks, text, dones: data.length - chunks.length }
}

async function readEvents(response: Response): Promise<string[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const data: string[] = []
  let rest = ''
  for await (const bytes of response.body!) {
    const frames = (rest + decoder.decode(bytes, { stream: true })).split(/\r?\n\r?\n/)
    rest = frames.pop() ?? ''
    for (const frame of frames) data.push(...dataOf(frame))
  }
  if (rest !== '') throw new Error(`the stream ended inside an event: ${rest}`)
  return data
}

const dataOf = (frame: string): string[] => {
  const lines = frame.split(/\r?\n/).filter((line) => line.startsWith('data:'))
  return lines.length === 0 ? [] : [lines.map((line) => line.slice(5).trimStart()).join('\n')]
}
