import { expect, it } from 'vitest'
import { findRoute } from '../../src/server/routes.ts'
import { textOf } from './source-files.ts'

const ROW = /^\| ([A-Z, ]+) \| `(\/[^`]*)` \|/gm

const documented = (page: string): string[] =>
  [...page.matchAll(ROW)].flatMap(([, methods = '', path]) => methods.split(', ').map((method) => `${method} ${path}`))

const routeOf = (endpoint: string) => {
  const [method = '', path = ''] = endpoint.split(' ')
  return findRoute(method, path.replace(/\{\w+\}/, 'some-id'))
}

/** The endpoints that the refusal of an unknown endpoint lists, behind the one that was asked for. */
function offered(): string[] {
  const refused = findRoute('GET', '/elsewhere')
  if (refused.kind !== 'refused') return []
  return [...refused.problem.message.matchAll(/(GET|POST|DELETE) (\/v1\/[^\s,.]*)/g)].map(([endpoint]) => endpoint)
}

it('every endpoint in the page is there', () => {
  const endpoints = documented(textOf('docs/api/endpoints.md'))
  expect(endpoints.filter((endpoint) => routeOf(endpoint).kind !== 'found')).toEqual([])
})

it('every endpoint that is offered is in the page', () => {
  const known = documented(textOf('docs/api/endpoints.md')).map((endpoint) => endpoint.replace(/\{\w+\}/, '{id}'))
  expect(offered().length).toBeGreaterThan(5)
  expect(offered().filter((endpoint) => !known.includes(endpoint))).toEqual([])
})

it('one that is not there would be noticed', () => {
  expect(documented('| GET, DELETE | `/v1/files/{id}` | a file |\n')).toEqual([
    'GET /v1/files/{id}',
    'DELETE /v1/files/{id}',
  ])
  expect(routeOf('GET /v1/files/{id}').kind).toBe('refused')
})
