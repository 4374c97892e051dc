import { expect, test } from 'vitest'
import { loaded, problemsOf } from './config.fixture.ts'
import { initTemplate } from './init-template.ts'

test('what init writes loads as it is and serves the demo', () => {
  const { config } = loaded({ yaml: initTemplate() })
  expect(config.models.map((model) => model.id)).toEqual(['demo'])
  expect(initTemplate()).toMatch(/^# yaml-language-server: \$schema=https:/)
})

test('everything that it shows in comments is spelled rightly', () => {
  const yaml = initTemplate()
    .replace(/^# (?=( {2})*[a-z_]+:( |$)|( {2})+- )/gm, '')
    .replace(/^( +)# /gm, '$1')
    .replace(/^ *(Providers|Other|Built|An entry|# How).*\n/gm, '')
  expect(yaml.match(/^[a-z_]+:/gm)).toHaveLength(13)
  const environment = { OPENAI_API_KEY: 'a', ANTHROPIC_API_KEY: 'b', GEMINI_API_KEY: 'c' }
  const problems = problemsOf({ yaml, environment })
  expect(problems).toEqual([])
})
