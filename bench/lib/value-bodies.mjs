// Bodies that are small as bytes and large as values, for each protocol. Each is made for a model, of about so many values.

const CHAT_ASK = [{ role: 'user', content: 'x' }]
const repeat = (text, count) =>
  Array(Math.max(1, Math.floor(count)))
    .fill(text)
    .join(',')
const raw = (protocol, model, members, more = '') => {
  const sendTurn = protocol === 'chat' ? `"messages":${JSON.stringify(CHAT_ASK)}` : '"input":"x","store":false'
  return Buffer.from(`{"model":"${model}","stream":true,${members.sendTurn ?? sendTurn}${more}}`)
}
/** Fields that no lane gets. */
const IGNORED = { chat: 'metadata', responses: 'client_metadata' }
const besides = (make) => (protocol, model, values) =>
  raw(protocol, model, {}, `,"${IGNORED[protocol]}":{"a":${make(values)}}`)
const asked = (chat, responses) => (protocol, model, values) =>
  protocol === 'chat'
    ? raw(protocol, model, { sendTurn: `"messages":[${chat(values)}]` })
    : raw(protocol, model, { sendTurn: `"store":false,"input":[${responses(values)}]` })

const nested = (depth) => '['.repeat(depth) + ']'.repeat(depth)
const tool = (protocol, parameters) =>
  protocol === 'chat'
    ? `{"type":"function","function":{"name":"f","parameters":${parameters}}}`
    : `{"type":"function","name":"f","parameters":${parameters}}`

export const VALUE_BODIES = {
  'empty arrays': besides((values) => `[${repeat('[]', values)}]`),
  'empty objects': besides((values) => `[${repeat('{}', values)}]`),
  'arrays in arrays, 60 deep': besides((values) => `[${repeat(nested(58), values / 58)}]`),
  numbers: besides((values) => `[${repeat('1.5', values)}]`),
  'short strings': besides((values) => `[${Array.from({ length: values }, (_, at) => `"${at}"`).join(',')}]`),
  'the same name again': besides((values) => `{${repeat('"b":1', Math.min(values, 90_000))}}`),
  'a schema of a tool': (protocol, model, values) =>
    raw(protocol, model, {}, `,"tools":[${tool(protocol, `{"a":[${repeat('[]', values)}]}`)}]`),
  'messages of one letter': asked(
    (values) => repeat('{"role":"user","content":"x"}', values / 3),
    (values) => repeat('{"role":"user","content":"x"}', values / 3),
  ),
  'parts of one letter': asked(
    (values) => `{"role":"user","content":[${repeat('{"type":"text","text":"x"}', values / 3)}]}`,
    (values) => `{"role":"user","content":[${repeat('{"type":"input_text","text":"x"}', values / 3)}]}`,
  ),
  'tools of one letter': (protocol, model, values) => {
    const names = Array.from({ length: Math.floor(values / 5) }, (_, at) => `t${at}`)
    const tools = names.map((name) =>
      protocol === 'chat'
        ? `{"type":"function","function":{"name":"${name}"}}`
        : `{"type":"function","name":"${name}","parameters":null,"strict":null}`,
    )
    return raw(protocol, model, {}, `,"tools":[${tools.join(',')}]`)
  },
}
