// Addresses are relative, so that the page also works below a path of a proxy. No validator of another server is asked.
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#description",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  filter: true,
  validatorUrl: null,
});
