/** Sends a streaming chat request. */
export async function streamChat(origin, key, body = {}, headers = {}) {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'calm', stream: true, messages: [{ role: 'user', content: 'Hello!' }], ...body }),
  })
  const pieces = []
  const decoder = new TextDecoder()
  for await (const bytes of response.body) pieces.push(decoder.decode(bytes, { stream: true }))
  return { status: response.status, id: response.headers.get('x-request-id'), pieces, text: pieces.join('') }
}

export async function receiptOf(origin, key, id) {
  const response = await fetch(`${origin}/v1/requests/${id}`, { headers: { authorization: `Bearer ${key}` } })
  return response.json()
}
