/** One frame with one line of data, as Chat Completions streams it. */
export const dataFrame = (json: unknown): Buffer => Buffer.from(`data: ${JSON.stringify(json)}\n\n`)

export const DONE_FRAME = Buffer.from('data: [DONE]\n\n')
