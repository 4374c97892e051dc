import { messagesOf } from './plan-request.mjs'

// What a client says and hears in either protocol. A note has one form for both: that of Chat.

const isResponses = ({ protocol }) => protocol === 'responses'

export const pathOf = (sendTurn) => (isResponses(sendTurn) ? '/v1/responses' : '/v1/chat/completions')

export const bodyOf = (sendTurn) => (isResponses(sendTurn) ? responsesBody(sendTurn) : chatBody(sendTurn))

const chatBody = (sendTurn) => ({
  model: sendTurn.model,
  messages: messagesOf(sendTurn),
  ...(sendTurn.cap === undefined ? {} : { max_completion_tokens: sendTurn.cap }),
  ...(sendTurn.delivery === 'stream' ? { stream: true, stream_options: { include_usage: true } } : {}),
})

const responsesBody = (sendTurn) => ({
  model: sendTurn.model,
  input: messagesOf(sendTurn),
  ...(sendTurn.cap === undefined ? {} : { max_output_tokens: sendTurn.cap }),
  ...(sendTurn.delivery === 'stream' ? { stream: true } : {}),
})

/** One event of a stream. */
export function readEvent(note, event) {
  if (isResponses(note.sendTurn)) return readResponseEvent(note, event)
  if (event.error) note.code = event.error.code
  if (event.usage) note.reported = event.usage
  addText(note, event.choices?.[0]?.delta?.content)
}

function readResponseEvent(note, { type, delta, response, code }) {
  if (type === 'error') note.code = code
  if (type === 'response.failed') note.code = response.error.code
  if (type === 'response.output_text.delta') addText(note, delta)
  if (type === 'response.completed' || type === 'response.incomplete') note.reported = deliveredOf(response.usage)
}

/** A JSON answer. */
export function readWhole(note, body) {
  if (body.error) {
    note.code = body.error.code
    note.error = body.error
    return
  }
  if (isResponses(note.sendTurn)) {
    note.reported = deliveredOf(body.usage)
    addText(note, body.output.flatMap(({ content }) => content.map(({ text }) => text)).join(''))
  } else {
    note.reported = body.usage
    addText(note, body.choices[0].message.content)
  }
  note.done = true
}

const deliveredOf = (usage) => ({ ...usage, prompt_tokens: usage.input_tokens, completion_tokens: usage.output_tokens })

function addText(note, words) {
  if (!words) return
  note.text += words
  note.arrivals.push({ at: Date.now(), bytes: Buffer.byteLength(note.text) })
}
