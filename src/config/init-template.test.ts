import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loaded, problemsOf } from '../../test/fixtures/config/config.ts'
import { createCertificate } from '../../test/fixtures/providers/certificate.ts'
import { initTemplate, writeTemplate } from './init-template.ts'

test('the template loads as it is and serves the demo', () => {
  const { config } = loaded({ yaml: initTemplate() })
  expect(config.models.map((model) => model.id)).toEqual(['demo'])
  const [, schema = ''] = /^# yaml-language-server: \$schema=(.*)$/m.exec(initTemplate()) ?? []
  expect(JSON.parse(readFileSync(schema, 'utf8')).title).toBe('millrace.yaml')
})

test('every commented key of the template is valid', () => {
  const yaml = initTemplate()
    .replace(/^# (?=( {2})*[a-z_]+:( |$)|( {2})+- )/gm, '')
    .replace(/^( +)# /gm, '$1')
    .replace(/^ *(Providers|Other|Built|To print|# How).*\n/gm, '')
  expect(yaml.match(/^[a-z_]+:/gm)).toHaveLength(15)
  const environment = { OPENAI_API_KEY: 'a', SMTP_PASSWORD: 'd', ANTHROPIC_API_KEY: 'b', GEMINI_API_KEY: 'c' }
  const { cert, key } = createCertificate('llm.example')
  const files = { '/srv/cert.pem': cert, '/srv/key.pem': key }
  const problems = problemsOf({ yaml, environment, files })
  expect(problems).toEqual([])
})

test('reports why a file cannot be written', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-init-'))
  const writing = (file: string) => writeTemplate(folder, file, { overwrite: true })
  await expect(writing('nowhere/a.yaml')).rejects.toThrow(
    /a\.yaml could not be written: the folder above it does not exist\./,
  )
  await expect(writing('.')).rejects.toThrow(/could not be written: there is a folder of that name\./)
  await rm(folder, { recursive: true })
})
