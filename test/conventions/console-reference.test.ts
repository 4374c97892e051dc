import { expect, it } from 'vitest'
import { readOpenApi } from '../../console/pages/connect/read-openapi.ts'
import { openApiDocument } from '../../src/server/openapi.ts'

const document: unknown = JSON.parse(JSON.stringify(openApiDocument()))
const operations = readOpenApi(document)

it('reads every route of the served document', () => {
  const { paths } = document as { paths: Record<string, object> }
  const named = Object.entries(paths).flatMap(([path, of]) =>
    Object.keys(of).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(operations.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(named.toSorted())
  for (const { method, path, summary, tag, answers } of operations) {
    expect([summary === '', tag === ''], `${method} ${path}`).toEqual([false, false])
    expect(answers.length).toBeGreaterThan(0)
  }
})

it('knows the fields of a chat request and of what is refused', () => {
  const chat = operations.find(({ path }) => path === '/v1/chat/completions')
  expect(chat?.body.find(({ name }) => name === 'model')).toMatchObject({ required: true })
  expect(chat?.answers.find(({ status }) => status === 'default')?.fields.map(({ name }) => name)).toContain(
    'error.code',
  )
})

it('ends where a schema refers to itself, and with anything that is no document', () => {
  const node = {
    type: 'object',
    properties: { next: { $ref: '#/components/schemas/Node' }, value: { type: ['string', 'null'] } },
  }
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Node' } } }
  const [read] = readOpenApi({
    paths: { '/a': { post: { requestBody: { content }, responses: {} } } },
    components: { schemas: { Node: node } },
  })
  expect(read?.body.map(({ name }) => name)).toContain('next.next.next.value')
  for (const other of [null, [], 'text', { paths: { '/a': null, '/b': { get: 1 } } }]) readOpenApi(other)
})
