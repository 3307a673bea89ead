SwaggerUIBundle({
  url: document.getElementById("docs").dataset.schema,
  dom_id: "#docs",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
});
