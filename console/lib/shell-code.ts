import { shellWord } from '../../src/lib/anywhere/shell-word.ts'

/** Where programs look for their key; the pages on clients say the same. */
export const KEY_VARIABLE = 'MILLRACE_KEY'

export const exportKey = (key: string): string => `export ${KEY_VARIABLE}=${key}`

/** A request with the key of the environment, with nothing in it that has to be changed first. */
export const curlCommand = (address: string, body: object): string =>
  `curl -N ${shellWord(address)} \\
  -H "Authorization: Bearer $${KEY_VARIABLE}" -H "Content-Type: application/json" \\
  -d ${shellWord(JSON.stringify(body))}`

/** Says hello to a model over the chat endpoint. */
export const greetingCommand = (
  baseUrl: string,
  body: { readonly model: string; readonly stream?: true },
  hello: string,
): string => curlCommand(`${baseUrl}/chat/completions`, { ...body, messages: [{ role: 'user', content: hello }] })
