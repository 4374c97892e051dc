import { expect, it } from 'vitest'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { loadConfig } from '../../src/config/load-config.ts'
import { problemsOf, sourcesOf } from '../fixtures/config/config.ts'
import { textOf } from './source-files.ts'

/** The configuration of a ConfigMap. */
function mountedBy(manifest: string): string {
  const objects = parseAllDocuments(textOf(manifest)).map((document) => document.toJS())
  return objects.find(({ kind }) => kind === 'ConfigMap').data['millrace.yaml']
}

const chart = () => stringify(parse(textOf('deploy/helm/millrace/values.yaml')).config)

it.each([
  ['deploy/kubernetes/one-node.yaml', mountedBy],
  ['deploy/kubernetes/three-nodes.yaml', mountedBy],
  ['deploy/helm/millrace/values.yaml', chart],
])('%s trusts the ingress, whose headers name the client and its protocol', (path, configurationOf) => {
  const world = { yaml: configurationOf(path) }
  expect(problemsOf(world)).toEqual([])
  const outcome = loadConfig(sourcesOf(world))
  expect(outcome.kind === 'loaded' && outcome.config.server.trustProxy).toEqual(['10.0.0.0/8'])
})
