const PAGE = /\[([^[\]]*)\],\s*\(\) => import\('\.\/([^']+)'\)/g

/** Which bundles of the catalogue come with each page: `page('/keys', ['keys'], () => import('./pages/keys/KeysPage.tsx'), …)`. */
export const pageMessages = (routes) =>
  [...routes.matchAll(PAGE)].map(([, bundles, page]) => ({
    page,
    bundles: [...bundles.matchAll(/\w+/g)].map(([bundle]) => bundle),
  }))
