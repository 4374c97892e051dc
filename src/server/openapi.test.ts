import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, it } from 'vitest'
import { ADMIN_ROUTES } from '../contract/admin-api.ts'
import { openApiDocument } from './openapi.ts'
import { findRoute } from './routes.ts'

type Document = Record<string, unknown> & {
  paths: Record<string, Record<string, { operationId: string; summary: string; 'x-scope'?: string }>>
}

const document = (): Document => JSON.parse(JSON.stringify(openApiDocument())) as Document

const operations = Object.entries(document().paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
)

describe('openapi.json', () => {
  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator()
    expect(await validator.validate(document())).toEqual({ valid: true })
    expect(validator.version).toBe('3.1')
    const broken = document()
    broken.paths['/v1/key']!.get!.operationId = 7 as unknown as string
    expect((await new Validator().validate(broken)).valid).toBe(false)
  })

  it('has every route of the management API with its scope, and every endpoint of /v1', () => {
    const admin = Object.entries(ADMIN_ROUTES).map(([name, { scope }]) => {
      const [method, path = ''] = name.split(' ')
      return `${method} /admin/v1${path.replace(/:(\w+)/g, '{$1}')} ${scope}`
    })
    const found = operations.filter(({ name }) => name.includes(' /admin/'))
    expect(found.map(({ name, operation }) => `${name} ${operation['x-scope']}`)).toEqual(admin)
    const refused = findRoute('GET', '/elsewhere')
    const message = refused.kind === 'refused' ? refused.problem.message : ''
    const offered = [...message.matchAll(/(?:GET|POST|DELETE) \/v1\/[^\s,]*/g)].map(([each]) => each.replace(/\.$/, ''))
    expect(offered.length).toBeGreaterThan(5)
    expect(
      operations
        .map(({ name }) => name)
        .filter((name) => name.includes(' /v1/'))
        .sort(),
    ).toEqual(offered.sort())
  })

  it('names each operation once', () => {
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([])
    expect(ids.filter((id) => !/^[a-z][A-Za-z]+$/.test(id))).toEqual([])
  })
})
