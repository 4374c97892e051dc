const PAGE = /\[([^[\]]*)\],\s*\(\) => import\('\.\/([^']+)'\)/g

/** Which areas of the catalogue come with each page: `page('/keys', ['keys'], () => import('./pages/keys/KeysPage.tsx'), …)`. */
export const pageMessages = (routes) =>
  [...routes.matchAll(PAGE)].map(([, areas, page]) => ({
    page,
    areas: [...areas.matchAll(/\w+/g)].map(([area]) => area),
  }))
