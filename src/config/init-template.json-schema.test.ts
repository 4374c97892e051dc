import { expect, test } from 'vitest'
import { everyPath } from '../../test/fixtures/config/every-path.ts'
import { configJsonSchema } from './init-template.ts'
import { bareSchema, configSchema, schemaAt } from './schema.ts'

// To renew the published file after a change of the schema: npx vitest run src/config/init-template.json-schema.test.ts -u
test('the published JSON Schema matches the code', async () => {
  await expect(configJsonSchema()).toMatchFileSnapshot('../../schema/millrace.schema.json')
})

test('every key has a description', () => {
  const undescribed = everyPath(configSchema).filter((path) => {
    const schema = schemaAt(configSchema, path)!
    return (schema.description ?? bareSchema(schema).description) === undefined
  })
  expect(undescribed).toEqual([])
  expect(configJsonSchema().match(/"description"/g)!.length).toBeGreaterThan(90)
})

test('the published JSON Schema has defaults and refuses unknown keys', () => {
  const schema = JSON.parse(configJsonSchema())
  expect(schema.additionalProperties).toBe(false)
  expect(schema.properties.server.properties.port).toMatchObject({ default: 4600, minimum: 0, maximum: 65535 })
  expect(schema.properties.models.items.required).toEqual(['id', 'context_tokens', 'max_output_tokens', 'lanes'])
})
