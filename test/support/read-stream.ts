/** A streamed answer, taken apart frame by frame as a client does. */
export interface StreamedAnswer {
  readonly requestId: string
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a chunk is judged by what the test expects of it
  readonly chunks: readonly any[]
  /** Whole frames without their blank line, comments included. */
  readonly frames: readonly string[]
  readonly text: string
  readonly reasoning: string
  readonly done: boolean
}

/** Frames as they arrive, without the blank line that ends them. */
export async function* framesOf(response: Response): AsyncGenerator<string> {
  if (!response.body) throw new Error('an answer without a body')
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of response.body) {
    const frames = (rest + decoder.decode(bytes, { stream: true })).split('\n\n')
    rest = frames.pop() ?? ''
    yield* frames
  }
  if (rest !== '') throw new Error(`the stream ended inside a frame: ${rest}`)
}

export async function readStream(response: Response): Promise<StreamedAnswer> {
  const frames: string[] = []
  for await (const frame of framesOf(response)) frames.push(frame)
  const data = frames.filter((frame) => frame.startsWith('data: ')).map((frame) => frame.slice('data: '.length))
  const chunks = data.filter((text) => text !== '[DONE]').map((text) => JSON.parse(text))
  const emitted = (name: string) => chunks.map((chunk) => chunk.choices?.[0]?.delta?.[name] ?? '').join('')
  return {
    requestId: response.headers.get('x-request-id') ?? '',
    headers: response.headers,
    chunks,
    frames,
    text: emitted('content'),
    reasoning: emitted('reasoning_content'),
    done: data.at(-1) === '[DONE]',
  }
}
